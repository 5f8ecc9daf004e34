"""Prune once in a new process: `python -m bench.cold TABLE SQL [SNAPSHOT_DIR]`.

Prints one line of JSON: the files kept, the bytes read, the peak memory, and the seconds of CPU.
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
    """seconds: from before the process's start to its answer. peak: memory in bytes."""

    seconds: float
    cpu_seconds: float
    kept: int
    peak: int


def run(module: str, *arguments: str) -> ColdRun:
    """Run `python -m MODULE ARGUMENTS`, which prints the output of `report`."""
    _compile()
    command = [sys.executable, "-m", module, *arguments]
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answer = process.stdout.readline()
        elapsed = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found = json.loads(answer)
    return ColdRun(elapsed, found["cpu_seconds"], found["kept"], found["peak"])


@cache
def _compile() -> None:
    """Compile the sources to byte code, as pip does for installed packages."""
    import compileall

    for package in ("pyhudi_expr", "bench", "devtools"):
        compileall.compile_dir(ROOT / package, quiet=1)


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def without_pandas() -> None:
    """Hide pandas, which only the tests need: pyarrow imports it if it is installed."""
    sys.meta_path.insert(0, _NoPandas())


def report(kept: int) -> None:
    """Print the result and its costs for `run`."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    print(json.dumps({"kept": kept, "cpu_seconds": spent, "peak": peak()}), flush=True)


def peak() -> int:
    """Return the peak memory of this process in bytes.

    (The value of getrusage includes the memory of the process that started this one.)
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _main(table: str, sql: str, directory: str | None = None) -> None:
    # Imported here, because importing is part of what is measured.
    from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
    from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest

    options = PruneOptions(snapshot_dir=Path(directory) if directory else None)
    report(Pruner(options).prune(table, PruneRequest(parse_predicate(sql))).files_kept)


if __name__ == "__main__":
    without_pandas()
    _main(*sys.argv[1:])
