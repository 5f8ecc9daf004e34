"""Databases of many tables: those of Hudi's sync are adopted, the others are named and left."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.cli.main import main
from tests.cli.terminals import at_a_terminal
from tests.hive.adoption.adopt_command import (
    HUDI_BASE_FILES,
    SYNCED,
    Adopt,
    outcomes,
    state,
)
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.query_results import Hive

pytestmark = pytest.mark.hive


def test_each_table_that_cannot_be_adopted_is_named_with_the_reason(
    hive: Hive, golden: Mapping[str, Path], adopt: Adopt, tmp_path: Path
) -> None:
    path = golden["cow_v9_txns_nonpart_nometa"]
    bootstrapped = shutil.copytree(path, tmp_path / "bootstrapped")
    with (bootstrapped / ".hoodie/hoodie.properties").open("a") as properties:
        properties.write("hoodie.bootstrap.base.path=/old\n")
    (tmp_path / "empty").mkdir()
    hive.run(
        "CREATE DATABASE mixed",
        SYNCED.format(name="mixed.good", path=path),
        SYNCED.format(name="mixed.nothing_there", path=tmp_path / "empty"),
        SYNCED.format(name="mixed.bootstrapped", path=bootstrapped),
        SYNCED.format(name="mixed.other_type", path=path).replace("decimal(15,2)", "binary"),
        SYNCED.format(name="mixed.other_column", path=path).replace("amount", "amounts"),
        f"CREATE EXTERNAL TABLE mixed.plain (a int) STORED AS PARQUET LOCATION '{path}'",
        "CREATE VIEW mixed.seen AS SELECT txn_id FROM mixed.good",
        "CREATE EXTERNAL TABLE mixed.handled STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
        f" LOCATION '{path}'",
    )
    hive.run("ALTER TABLE mixed.good UPDATE STATISTICS SET ('numRows'='50')")
    of_good = state(hive, "mixed.good")
    untouched = ("nothing_there", "bootstrapped", "other_type", "other_column", "plain")
    before = {name: state(hive, f"mixed.{name}") for name in untouched}
    reported = adopt("mixed")
    reasons = {
        each["table"].partition(".")[2]: each["message"]
        for each in reported
        if each["outcome"] == "skipped"
    }
    expected = {
        "nothing_there": "no Hudi table here",
        "bootstrapped": "made by bootstrap",
        "other_type": "column amount is binary in Hive and decimal(15,2) in the Hudi table",
        "other_column": "column amounts is not in the Hudi table",
        "plain": "MapredParquetInputFormat reads it, not Hudi's",
        "seen": "it is a view",
        "handled": "the storage handler io.pyhudi.hive.HudiStorageHandler reads it",
    }
    assert reasons.keys() == expected.keys()
    for name, reason in expected.items():
        assert reason in reasons[name]
    assert outcomes(reported)["good"] == "changed"
    assert {name: state(hive, f"mixed.{name}") for name in untouched} == before
    assert outcomes(adopt("mixed", "--undo"))["good"] == "changed"
    assert state(hive, "mixed.good") == of_good, "its statistics, too"
    (missing,) = adopt("mixed.absent", code=1)
    assert (missing["outcome"], missing["message"]) == ("failed", "it is not in the metastore")


@pytest.mark.long
def test_hundreds_of_tables_are_adopted_with_a_bar_and_a_report(
    hive: Hive,
    golden: Mapping[str, Path],
    adopt: Adopt,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, count = golden["cow_v9_txns_nonpart_nometa"], 300
    names = [f"many.t{number:03}" for number in range(count)]
    hive.run("CREATE DATABASE many", *(SYNCED.format(name=name, path=path) for name in names))
    command = ["hive", "adopt", "many", "--hs2", f"127.0.0.1:{hive.server.port}"]
    screen = at_a_terminal(monkeypatch, typed="")
    assert main([*command, "--auth", "NOSASL"]) == 0
    assert f"of {count} tables" in screen.getvalue()
    monkeypatch.undo()
    assert set(outcomes(adopt("many")).values()) == {"unchanged"}
    assert set(outcomes(adopt("many", "--undo")).values()) == {"changed"}
    assert set(input_formats(state(hive, names[-1])).values()) == {HUDI_BASE_FILES}
