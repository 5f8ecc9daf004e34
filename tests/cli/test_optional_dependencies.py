"""The command line with only the extra `cli`: help works, and missing extras are named."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

_OF_OTHER_EXTRAS = """
    hudi matplotlib opentelemetry pandas polars prometheus_client puresasl py4j pydantic
    pydantic_settings pyhive pyspark structlog substrait thrift thrift_sasl
"""
#: Runs each line of standard input as a command; prints exit codes and outputs.
_PROGRAM = f"""
import contextlib, io, json, shlex, sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {_OF_OTHER_EXTRAS.split()!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacking())
from pyhudi_expr.cli.main import main

def ran(line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(line))
    return code, out.getvalue(), err.getvalue()

print(json.dumps([ran(line) for line in sys.stdin.read().splitlines()]))
"""


def run_each(*lines: object) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each command, without the other packages."""
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(
        command, input="\n".join(map(str, lines)), capture_output=True, text=True, check=True
    )
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.slow
def test_help_works_without_the_other_extras() -> None:
    groups = ("index", "layout", "virtual-keys", "hive", "serve", "advise", "hive register")
    for code, out, err in run_each("--help", *(f"{name} --help" for name in groups)):
        assert (code, err) == (0, "")
        assert "Usage: pyhudi" in out
    assert "pyhudi" in run_each("completion bash")[0][1]


@pytest.mark.slow
def test_a_command_names_its_missing_extra() -> None:
    commands = {
        "hive register t": "hive",
        "hive doctor t": "hive",
        "serve": "service",
    }
    for (code, out, err), extra in zip(run_each(*commands), commands.values(), strict=True):
        assert (code, out) == (1, "")
        assert err.endswith(f" is missing; install the extra: pip install 'pyhudi-expr[{extra}]'\n")


@pytest.mark.slow
def test_a_scan_that_merges_log_files_names_its_extra(golden: Mapping[str, Path]) -> None:
    ((code, _, err),) = run_each(f"scan {golden['mor_v6_simplekeygen_nonhivestyle']}")
    assert code == 1
    assert "install the extra: pip install 'pyhudi-expr[reading]'" in err
    assert "[spark]" not in err
