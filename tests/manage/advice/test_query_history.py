"""Sources of the advisor's queries: a service's query log, and Hive's session history."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from devtools.service import ServiceProcess
from pyhudi_expr.cli.main import main
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, here
from pyhudi_expr.manage.advice.query_history import read_hive_history, read_query_log
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.service.query_log import QueryLog

_PREDICATES = ("txn_id = 'TXN-017'", "amount < 900 AND merchant_name = 'x'")
_WRITTEN_BY_HIVE = Path(__file__).parents[2] / "data" / "hive" / "session_history.txt"
_HISTORY = """SessionStart SESSION_ID="pyhudi_2024" TIME="1700000000000"
QueryStart QUERY_STRING="create table trips (id int)" QUERY_ID="a_1" TIME="1700000000001"
QueryEnd QUERY_STRING="create table trips (id int)" QUERY_ID="a_1" TIME="1700000000002"
QueryStart QUERY_STRING="select id from trips where city = "Oslo" and fare > 3" QUERY_ID="a_2"
QueryStart QUERY_STRING="select id  from lake.trips where   fare < 3" QUERY_ID="a_3" TIME="2"
QueryStart QUERY_STRING="select id from riders where id = 7" QUERY_ID="a_4" TIME="3"
QueryStart QUERY_STRING="select from where" QUERY_ID="a_5" TIME="4"
TaskEnd TASK_ID="Stage-0" QUERY_ID="a_3" TIME="5"
"""


@pytest.mark.slow
def test_the_query_log_of_a_service_becomes_advice(golden, tmp_path, capsys):
    table = str(golden["cow_v9_txns_nonpart_nometa"])
    log = tmp_path / "asked.jsonl"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYHUDI_QUERY_LOG", str(log))
        service = ServiceProcess(tmp_path / "service")
        service.start()
    try:
        with PruningClient("127.0.0.1", service.port, timeout=30) as client:
            for text in (*_PREDICATES, _PREDICATES[0]):
                client.prune(table, parse_predicate(text))
            client.prune(str(golden["cow_v9_txns_simple_meta"]), parse_predicate(_PREDICATES[0]))
            client.prune("/no/such/table", parse_predicate(_PREDICATES[0]))
    finally:
        service.stop()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    found = read_query_log(log.read_text(), f"file:{table}/")
    assert found.notes == ()
    assert [each.predicate for each in found.queries] == [
        parse_predicate(text) for text in (*_PREDICATES, _PREDICATES[0])
    ]
    assert main(["advise", table, "--query-log", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 3


def test_a_full_query_log_starts_over(tmp_path, monkeypatch):
    monkeypatch.setattr("pyhudi_expr.service.query_log._MOST_BYTES", 300)
    path = tmp_path / "asked"
    log = QueryLog(path)
    for number in range(11):
        log.add("/t", parse_predicate(f"a = {number}"), UNKNOWN_SEMANTICS)
    before = path.with_name("asked.1")
    assert path.stat().st_size < before.stat().st_size <= 600
    newest = read_query_log((before.read_text() + path.read_text()), "/t").queries[-1]
    assert newest.predicate == parse_predicate("a = 10")


def test_an_unwritable_query_log_does_not_fail_requests(tmp_path):
    QueryLog(tmp_path / "no" / "asked").add("/t", parse_predicate("a = 1"), UNKNOWN_SEMANTICS)


def test_the_log_names_what_the_meaning_of_a_predicate_depends_on(tmp_path: Path) -> None:
    semantics = replace(
        here("Asia/Tokyo", Engine.HIVE), version="4.0.1", settings={"hive.x": "true"}
    )
    QueryLog(tmp_path / "asked").add("/t", parse_predicate("a = 1"), semantics)
    entry = json.loads((tmp_path / "asked").read_text())
    assert entry["semantics"] == {
        "engine": "hive",
        "version": "4.0.1",
        "zone": "Asia/Tokyo",
        "readingZone": "Asia/Tokyo",
        "settings": {"hive.x": "true"},
    }


def test_invalid_lines_are_noted():
    found = read_query_log('{"table": "/t"}\nnonsense\n{"table": "/other"}\n', "/t")
    assert found.queries == ()
    assert [note.split(" cannot")[0] for note in found.notes] == [
        "line 1 of the query log",
        "line 2 of the query log",
    ]


def test_conditions_of_a_table_are_read_from_hives_history():
    found = read_hive_history(_HISTORY, "trips")
    assert [each.text for each in found.queries] == ["city = 'Oslo' AND fare > 3", "fare < 3"]
    assert len(found.notes) == 1
    assert "cannot be read" in found.notes[0]


def test_a_history_in_hives_format():
    found = read_hive_history(_WRITTEN_BY_HIVE.read_text(), "trips")
    assert [each.text for each in found.queries] == ["fare > 100 AND city = 'Os\"lo'", "fare < 3"]
    assert found.notes == ()


def test_an_empty_history_is_refused(golden, capsys):
    assert main(["advise", str(golden["cow_v9_txns_nonpart_nometa"])]) == 2
    assert "--hive-history" in capsys.readouterr().err
