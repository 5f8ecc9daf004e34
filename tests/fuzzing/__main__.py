"""`make fuzz-parsers`: parsers of table files, and the kernel, under fuzzers guided by coverage.

    python -m tests.fuzzing --seconds 60 log hfile

Each begins with the inputs in `tests/data/fuzzing`. A parser that raises what it may not, or takes
10 seconds or 2 GiB, makes the exit code 1; its input is in `.work/fuzzing/findings`. `--record`
writes `tests/data/fuzzing` again: few inputs, which reach the code that all found so far reach.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from devtools.runtime import ROOT, WORK
from tests.fuzzing.parsers import CORPUS, PARSERS

_PLACE = WORK / "fuzzing"
_FINDINGS = _PLACE / "findings"
_KERNEL = "kernel"
_SOURCES = (ROOT / "tests/fuzzing/kernel.c", ROOT / "pyhudi_expr/tables/mdt/bytes/kernel.c")
_COMPILERS = ("clang", *(f"clang-{version}" for version in range(21, 13, -1)))
_LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1")
_RUNS = re.compile(r"number_of_executed_units: (\d+)")
#: Bytes of the inputs of a parser that are recorded, the shortest first.
_RECORDED = 48 << 10


def main() -> int:
    """Return the exit code: 1 if a parser has failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*PARSERS, _KERNEL], metavar="NAME")
    parser.add_argument("--seconds", type=int, default=30, help="for each")
    parser.add_argument("--record", action="store_true", help="write the corpus again")
    given = parser.parse_args()
    if unknown := {*given.names} - {*PARSERS, _KERNEL}:
        parser.error(f"no parsers: {', '.join(sorted(unknown))}")
    _FINDINGS.mkdir(parents=True, exist_ok=True)
    failed = [name for name in given.names if not _fuzzed(name, given.seconds)]
    if given.record:
        for name in given.names:
            _record(name)
    return int(bool(failed))


def _fuzzed(name: str, seconds: int) -> bool:
    """Fuzz a parser; return whether nothing was found."""
    inputs, log = _PLACE / name, _PLACE / f"{name}.log"
    with zipfile.ZipFile(CORPUS / f"{name}.zip") as recorded:
        recorded.extractall(inputs)
    options = (*_LIMITS, f"-max_total_time={seconds}", _kept(name))
    with log.open("w") as target:
        code = subprocess.run(
            [_program(name), *options, inputs], cwd=ROOT, stdout=target, stderr=target
        ).returncode
    runs = _RUNS.search(log.read_text(errors="replace"))
    outcome = "ok" if code == 0 else f"FAILED, see {log} and {_FINDINGS}"
    print(f"{name:17} {runs[1] if runs else 0:>9} inputs  {outcome}", flush=True)
    return code == 0


def _program(name: str) -> Path:
    """Return the program that fuzzes a parser. It may run itself again."""
    target = _PLACE / f"{name}-fuzzer"
    if name != _KERNEL:
        python = shlex.join([sys.executable, "-m", "tests.fuzzing.target", name])
        target.write_text(f'#!/bin/sh\nexec {python} "$0" "$@"\n')
        target.chmod(0o755)
        return target
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise SystemExit("the kernel's fuzzer needs Clang: apt-get install clang")
    flags = ("-std=c11", "-g", "-O1", "-DKERNEL_SOURCE=0u", "-fno-sanitize-recover=all")
    sanitizers = "-fsanitize=fuzzer,address,undefined"
    subprocess.run([compiler, *flags, sanitizers, "-o", target, *_SOURCES], check=True)
    return target


def _kept(name: str) -> str:
    """Return the option that says where findings are written."""
    return f"-artifact_prefix={_FINDINGS}/{name}-"


def _record(name: str) -> None:
    """Write the recorded inputs of a parser."""
    with tempfile.TemporaryDirectory() as few:
        merge = [_program(name), "-merge=1", _kept(name), few, _PLACE / name]
        subprocess.run(merge, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
        contents = sorted((one.read_bytes() for one in Path(few).iterdir()), key=len)
    with zipfile.ZipFile(CORPUS / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as recorded:
        size = 0
        for number, content in enumerate(contents):
            size += len(content)
            if size <= _RECORDED:
                recorded.writestr(zipfile.ZipInfo(f"{number:04}"), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(main())
