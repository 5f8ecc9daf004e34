"""Without other extras than its own, a part works: commands give help and name what is missing."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

_OF_OTHER_EXTRAS = """
    hudi matplotlib opentelemetry pandas polars prometheus_client puresasl py4j pydantic
    pydantic_settings pyhive pyspark structlog thrift thrift_sasl
"""
_OF_THE_SERVICE = frozenset(
    ["prometheus_client", "pydantic", "pydantic_settings", "structlog", "thrift"]
)
#: Hides the packages that its first argument names.
_LACKING = """
import contextlib, importlib, io, json, pkgutil, shlex, sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
"""
#: Runs each line of standard input as a command; prints exit codes and outputs.
_COMMANDS = f"""{_LACKING}
from pyhudi_expr.cli.main import main

def ran(line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(line))
    return code, out.getvalue(), err.getvalue()

print(json.dumps([ran(line) for line in sys.stdin.read().splitlines()]))
"""
#: Imports all modules of the service; prints those that it cannot import, and why.
_SERVICE = f"""{_LACKING}
import pyhudi_expr.service

failed = dict()
for module in pkgutil.walk_packages(pyhudi_expr.service.__path__, "pyhudi_expr.service."):
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed[module.name] = str(error)
print(json.dumps(failed))
"""


def run_each(*lines: object) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each command, without the other packages."""
    command = [sys.executable, "-c", _COMMANDS, _OF_OTHER_EXTRAS]
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
def test_layouts_are_shown_without_the_extra_for_pictures(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    page, picture = tmp_path / "files.html", tmp_path / "files.png"
    asked = f"{golden['cow_v9_txns_simple_meta']} --predicate \"amount > 5 AND region = 'us'\""
    ((code, out, err),) = run_each(f"layout analyze {asked} --html {page} --picture {picture}")
    assert (code, "share of files read" in out, page.exists()) == (1, True, True)
    assert err.endswith(
        "matplotlib is missing; install the extra: pip install 'pyhudi-expr[pictures]'\n"
    )
    assert not picture.exists()


@pytest.mark.slow
def test_a_scan_that_merges_log_files_names_its_extra(golden: Mapping[str, Path]) -> None:
    ((code, _, err),) = run_each(f"scan {golden['mor_v6_simplekeygen_nonhivestyle']}")
    assert code == 1
    assert "install the extra: pip install 'pyhudi-expr[reading]'" in err
    assert "[spark]" not in err


@pytest.mark.slow
def test_the_service_needs_only_its_extra() -> None:
    """Images install it, and Spark's archive for nodes holds it and `cli` only."""
    lacking = " ".join(set(_OF_OTHER_EXTRAS.split()) - _OF_THE_SERVICE)
    command = [sys.executable, "-c", _SERVICE, lacking]
    failed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert failed == {
        "pyhudi_expr.service.traces": (
            "traces_endpoint: the packages for it lack: pip install pyhudi-expr[traces]"
        )
    }
