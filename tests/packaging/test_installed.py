"""The wheel and the handler's jar, installed as users do, outside the checkout."""

import json
import shutil
import subprocess
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from devtools.hiveserver import HiveServer
from devtools.runtime import HANDLER_JAR, ROOT, aux_jars
from tests.packaging.installing import run

_VERSIONS = ("3.10", "3.11", "3.12", "3.13")
_PROGRAM = """
import sys
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.prune import PruneRequest

result = Pruner().prune(sys.argv[1], PruneRequest(parse_predicate("region = 'us'")))
print(result.files_kept, result.files_total)
"""


def python(version: str) -> str | None:
    """An interpreter of the version that can create environments."""
    for candidate in (
        f"python{version}",
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ):
        found = shutil.which(str(candidate))
        works = found and subprocess.run(
            [found, "-c", "import venv, ensurepip"], capture_output=True
        )
        if works and works.returncode == 0:
            return found
    return None


def test_the_metadata_of_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata_fields = message_from_bytes(files.read(metadata))
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {"pyhudi_expr/py.typed", "pyhudi_expr/cli/demo.ipynb"} <= set(names)
    prefix = "Programming Language :: Python :: 3."
    found = [one for one in metadata_fields.get_all("Classifier", []) if one.startswith(prefix)]
    assert found == [f"Programming Language :: Python :: {version}" for version in _VERSIONS]
    assert metadata_fields["License-Expression"] == "Apache-2.0"
    assert {"cli", "service", "spark", "hive"} <= set(metadata_fields.get_all("Provides-Extra", []))


@pytest.mark.long
@pytest.mark.parametrize("version", _VERSIONS)
def test_the_wheel_works_in_every_python(version, wheel, golden, tmp_path):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"Python {version} is not installed")
    table = golden["cow_v9_txns_simple_meta"]
    run(interpreter, "-m", "venv", "env", cwd=tmp_path)
    own = tmp_path / "env" / "bin"

    # Lean: without the packages of the command line or the service.
    run(own / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    kept, total = run(own / "python", "-c", _PROGRAM, table, cwd=tmp_path).split()
    assert 0 < int(kept) < int(total)
    listed = json.loads(run(own / "python", "-m", "pip", "list", "--format=json", cwd=tmp_path))
    assert not {"click", "rich", "thrift", "structlog"} & {each["name"].lower() for each in listed}
    assert "pyhudi-expr[cli]" in run(own / "pyhudi", "--help", cwd=tmp_path, code=1)

    run(own / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]", cwd=tmp_path)
    assert "hive" in run(own / "pyhudi", "--help", cwd=tmp_path)
    assert "register" in run(own / "pyhudi", "hive", "--help", cwd=tmp_path)
    assert "pyhudi-expr[service]" in run(own / "pyhudi", "serve", cwd=tmp_path, code=1)

    run(own / "python", "-m", "pip", "install", "--quiet", f"{wheel}[service]", cwd=tmp_path)
    report = json.loads(
        run(own / "pyhudi", "prune", table, "region = 'us'", "--json", cwd=tmp_path)
    )
    assert (report["files_kept"], report["files_total"]) == (int(kept), int(total))
    assert json.loads(run(own / "pyhudi", "demo", "trips", "--json", cwd=tmp_path))["queries"]
    assert "--port" in run(own / "pyhudi", "serve", "--help", cwd=tmp_path)

    every = f"{wheel}[spark,service,cli]"
    run(own / "python", "-m", "pip", "install", "--quiet", "--dry-run", every, cwd=tmp_path)


@pytest.mark.smoke
@pytest.mark.hive
def test_the_jar_contains_its_licence_and_those_of_its_contents():
    with zipfile.ZipFile(HANDLER_JAR) as files:
        licence = files.read("META-INF/LICENSE").decode()
        names = files.namelist()
    assert licence == (ROOT / "LICENSE").read_text()
    assert {"META-INF/LICENSE.txt", "META-INF/NOTICE.txt"} <= set(names)  # libthrift's licence


@pytest.mark.long
@pytest.mark.hive
def test_the_jar_works_when_added_in_a_session(golden, tmp_path):
    jar = shutil.copy(HANDLER_JAR, tmp_path)
    others = [path for path in aux_jars() if path != HANDLER_JAR]
    table = golden["cow_v9_txns_simple_meta"]
    with HiveServer(tmp_path / "hive", jars=others) as server, server.session() as session:
        session.run(f"ADD JAR {jar}")
        session.run(
            "CREATE EXTERNAL TABLE added STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
            f" LOCATION '{table}'"
        )
        session.set({"hive.fetch.task.conversion": "more"})
        rows = session.run("SELECT txn_id, region FROM added WHERE region = 'us'")
        assert {region for _, region in rows} == {"us"}
