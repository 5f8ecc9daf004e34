"""`pyhudi explain` on terminals: in the user's words, aligned, in colours."""

import io

import pytest
from rich.console import Console

from pyhudi_expr.cli.inspection import print_explanation
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import Pruner, PruneRequest


def shown(monkeypatch, table, predicate, width, **settings):
    """The lines on a terminal of that width."""
    screen = io.StringIO()
    settings = {"force_terminal": True, "width": width, "color_system": None, **settings}
    monkeypatch.setattr(
        "rich.console.Console", lambda **own: Console(file=screen, **settings, **own)
    )
    result = Pruner().prune(
        str(table), PruneRequest(parse_predicate(predicate), semantics=here("UTC"))
    )
    print_explanation(predicate, result.explain())
    return screen.getvalue().splitlines()


@pytest.fixture
def table(golden):
    return golden["cow_v9_txns_simple_meta"]


def labels(lines):
    return [line.partition("   ")[0].rstrip() for line in lines]


def test_parts_are_written_as_in_sql(monkeypatch, table):
    predicate = "amount > 165 AND region <> 'us' OR txn_date BETWEEN '2024-01-01' AND '2024-01-02'"
    lines = shown(monkeypatch, table, predicate, 200)
    assert lines[2].startswith(predicate)
    parts = [line.strip() for line in lines[3:]]
    assert parts[0].startswith("amount > 165 AND region <> 'us' ")
    assert parts[1].startswith("amount > 165 ")
    assert parts[2].startswith("region <> 'us' ")
    assert parts[4].startswith("txn_date >= '2024-01-01' ")
    assert len({line.index(" of 5") for line in lines[2:]}) == 1  # aligned


def test_a_contradiction_needs_no_index(monkeypatch, table):
    lines = shown(monkeypatch, table, "txn_id = 'a' AND txn_id = 'b'", 200)
    assert [label.strip() for label in labels(lines[2:])] == [
        "txn_id = 'a' AND txn_id = 'b'",
        "txn_id = 'a'",
        "txn_id = 'b'",
    ]
    assert lines[2].endswith("no row can match it")
    assert [line.split("   ")[-1].strip() for line in lines[3:]] == ["no index was asked"] * 2


def test_a_contradiction_within_or_is_written_without_what_follows_from_it(monkeypatch, table):
    lines = shown(monkeypatch, table, "amount > 165 OR (txn_id = 'a' AND txn_id = 'b')", 200)
    assert labels(lines)[4].strip() == "txn_id = 'a' AND txn_id = 'b'"
    assert lines[4].rstrip().endswith("no row can match it")


@pytest.mark.parametrize(
    "part",
    [
        "region <> 'a = b'",
        "region IS NOT NULL",
        "region NOT IN ('a', 'b')",
        "region NOT LIKE 'u%'",
        "NOT amount > 3",
        "NOT amount * 2 = 3",
    ],
)
def test_negations_are_written_as_in_sql(monkeypatch, table, part):
    lines = shown(monkeypatch, table, f"txn_id = 'x' AND {part}", 200)
    assert labels(lines)[-1].strip() == part


def test_what_is_derived_for_record_keys_is_no_part_of_it(monkeypatch, table):
    lines = shown(monkeypatch, table, "txn_id = 'TXN-017'", 200)
    assert len(lines) == 3
    assert lines[2].startswith("txn_id = 'TXN-017' ")


def test_parts_that_are_not_evaluated_have_the_reason(monkeypatch, table):
    lines = shown(monkeypatch, table, "region = 'us' AND merchant_name RLIKE '(?i)x'", 200)
    assert lines[-1].startswith("  (not evaluated) ")
    assert "the rest of RLIKE '(?i)x' is not evaluated" in lines[-1]


def test_narrow_terminals_have_what_is_skipped_below_each_part(monkeypatch, table):
    lines = shown(monkeypatch, table, "region = 'us' AND amount > 1000000", 40)
    assert lines[0] == "region = 'us' AND amount > 1000000"
    assert lines[2] == "  region = 'us'"
    assert lines[3].startswith("      skips 3 of 5 files, ")


def test_colours_show_what_skips_files(monkeypatch, table):
    predicate = "region = 'us' AND merchant_name RLIKE '(?i)x'"
    lines = shown(monkeypatch, table, predicate, 200, color_system="standard")
    by_part = {label: "\x1b[32m" in line for label, line in zip(labels(lines), lines, strict=True)}
    assert by_part["  region = 'us'"]
    assert not by_part["  (not evaluated)"]


def test_what_was_derived_is_not_shown(monkeypatch, table):
    lines = shown(monkeypatch, table, "lower(region) = 'us'", 200)
    assert labels(lines)[2:] == ["lower(region) = 'us'"]
    lines = shown(monkeypatch, table, "lower(region) = 'us' AND amount > 1", 200)
    parts = [label.strip() for label in labels(lines)[3:]]
    assert parts == ["lower(region) = 'us'", "amount > 1"]
    lines = shown(monkeypatch, table, "txn_id = 'TXN-015' OR region = 'x'", 200)
    parts = [label.strip() for label in labels(lines)[3:]]
    assert parts == ["txn_id = 'TXN-015'", "region = 'x'"]
