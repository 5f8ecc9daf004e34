"""The clients of `examples/`, in Python and Java, send domains of Trino and Presto."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.runtime import HANDLER_JAR, HIVE_LIB, ROOT, java
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import running_server

DATA = ROOT / "tests" / "data"
TABLE = "cow_v9_txns_simple_meta"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_server(PruningHandler(Pruner(), ServiceSettings())) as server:
        yield f"127.0.0.1:{server.port}"


def domain_of(engine: str, sql: str, column: str) -> str:
    """The domain that an engine wrote for an SQL text, moved to another column."""
    for line in (DATA / engine / "tuple_domains.jsonl").read_text("utf-8").splitlines():
        form = json.loads(line)
        if form["sql"] == sql:
            form["tupleDomain"]["columnDomains"][0]["column"] = column
            return json.dumps(form["tupleDomain"])
    raise LookupError(sql)


def by_java() -> tuple[str, ...]:
    if not HANDLER_JAR.is_file():
        pytest.skip("the handler has not been built")
    path = ":".join(map(str, (HANDLER_JAR, *HIVE_LIB.glob("slf4j-api-*.jar"))))
    return (str(java()), "-cp", path, "examples/Domains.java")


def run(*command: str, given: str = "") -> list[list[str]]:
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=ROOT)
    assert not done.returncode, done.stderr
    return sorted(line.split("\t") for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["trino", "presto"])
def test_both_clients_get_the_same_answer(
    golden: Mapping[str, Path], address: str, engine: str
) -> None:
    table = str(golden[TABLE])
    domain = domain_of(engine, "s >= 'm' OR s IS NULL", "region")
    by_python = run(sys.executable, "-m", "examples.domains", address, table, given=domain)
    assert [line[:2] for line in by_python] == [
        ["region=apac", "DROP_PARTITION"],
        ["region=eu", "DROP_PARTITION"],
    ]
    assert run(*by_java(), address, table, "region", "m", "-", "null") == by_python


@pytest.mark.slow
def test_files_are_named_by_their_tokens(golden: Mapping[str, Path], address: str) -> None:
    output = run(*by_java(), address, str(golden[TABLE]), "txn_id", "TXN-001", "TXN-001")
    assert output
    assert {line[1] for line in output} <= {"DROP_LISTED", "DROP_TOKENS", "KEEP_TOKENS"}


def test_an_invalid_domain_is_an_error(address: str) -> None:
    command = [sys.executable, "-m", "examples.domains", address, "/nowhere"]
    done = subprocess.run(command, input="{", capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "no domain" in done.stderr
