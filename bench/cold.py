"""One question in a process of its own: `python -m bench.cold TABLE SQL [SNAPSHOT_DIR]`.

Prints one line of JSON: what was kept and read, the most memory the process held, and its seconds
of CPU.
"""

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devtools.runtime import ROOT


@dataclass(frozen=True)
class ColdRun:
    """seconds: from before the process's start until its answer is there. peak: memory, bytes."""

    seconds: float
    cpu_seconds: float
    kept: int
    peak: int


def run(module: str, *arguments: str) -> ColdRun:
    """`python -m MODULE ARGUMENTS`, which prints what `report` does."""
    _compile()
    command = [sys.executable, "-m", module, *arguments]
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answer = process.stdout.readline()
        elapsed = time.perf_counter() - begun
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found = json.loads(answer)
    return ColdRun(elapsed, found["cpu_seconds"], found["kept"], found["peak"])


@cache
def _compile() -> None:
    """Leaves byte code beside our sources, as pip does beside those that it installs."""
    import compileall

    for package in ("pyhudi_expr", "bench", "devtools"):
        compileall.compile_dir(ROOT / package, quiet=1)


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def without_pandas() -> None:
    """Hides pandas, which only the tests need: pyarrow imports it wherever it is installed."""
    sys.meta_path.insert(0, _NoPandas())


def report(kept: int) -> None:
    """Tells `run` what was found and spent."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    print(json.dumps({"kept": kept, "cpu_seconds": spent, "peak": peak()}), flush=True)


def peak() -> int:
    """The most memory that this process held, bytes.

    (What getrusage tells begins with the memory of the process that started us.)
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _main(table: str, sql: str, directory: str | None = None) -> None:
    # Imported here, because importing is part of what is measured.
    from pyhudi_expr.frontend.sql.parser import parse_predicate
    from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest

    options = PruneOptions(snapshot_dir=Path(directory) if directory else None)
    report(Pruner(options).prune(table, PruneRequest(parse_predicate(sql))).files_kept)


if __name__ == "__main__":
    without_pandas()
    _main(*sys.argv[1:])
