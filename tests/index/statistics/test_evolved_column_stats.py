"""Statistics of files by the names that columns had when they were written.

The table is a golden one, of which a history is told that it never had: its last write, of two of
its five files, is said to have come after all changes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult

LAST = 20260307162456179
Fields = list[tuple[int, str, str]]
Told = Callable[[Fields, Fields], Path]

#: With their ids: the names of two are exchanged, one gets another type, one is made anew, and one
#: is wider.
BEFORE: Fields = [
    *[(1, "account_id", "string"), (2, "txn_id", "string"), (3, "merchant_name", "int")],
    *[(4, "currency", "string"), (6, "txn_ts", "int"), (7, "region", "string")],
]
AFTER: Fields = [
    *[(1, "txn_id", "string"), (2, "account_id", "string"), (3, "merchant_name", "string")],
    *[(5, "currency", "string"), (6, "txn_ts", "long"), (7, "region", "string")],
]


@pytest.fixture
def told(golden: Mapping[str, Path], tmp_path: Path) -> Told:
    """The table with a history: its columns up to the last write, and since then."""

    def told(before: Fields, after: Fields) -> Path:
        table = tmp_path / "table"
        shutil.copytree(golden["cow_v9_txns_simple_meta"], table)
        schemas = [
            {
                "version_id": since,
                "type": "record",
                "fields": [{"id": i, "name": n, "optional": True, "type": t} for i, n, t in fields],
            }
            for since, fields in ((LAST, after), (0, before))
        ]
        directory = table / ".hoodie" / ".schema"
        directory.mkdir(exist_ok=True)
        (directory / f"{LAST}.schemacommit").write_text(json.dumps({"schemas": schemas}))
        return table

    return told


def prune(table: Path, text: str) -> PruneResult:
    return Pruner().prune(str(table), PruneRequest(parse_predicate(text)))


def kept(table: Path, text: str) -> str:
    """A letter for each slice: apac and eu of before, eu of the last write, us of both."""
    return "".join("K" if keep else "-" for keep in prune(table, text).keep)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("account_id = 'TXN-007'", "K--K-"),  # it was txn_id in the old files
        ("account_id = 'TXN-018'", "-----"),  # the new ones have accounts in it
        ("account_id = 'ACC-P'", "--K--"),
        ("txn_id = 'ACC-I'", "KK-K-"),
        ("merchant_name = 'Zzz'", "KK-K-"),  # a number made a text: only the new files tell
        ("currency = 'USD'", "KK-KK"),  # another column than the one of that name before
        ("txn_ts < 0", "-----"),  # widened
        ("region = 'eu'", "-KK--"),  # of the paths
        ("region = 'eu' AND account_id = 'TXN-012'", "-K---"),
        ("_hoodie_commit_time > '20260307162455'", "--K-K"),
        ("amount > 1", "KKKKK"),  # the history knows no such column
    ],
)
def test_each_file_is_asked_by_the_name_of_its_time(told: Told, text: str, expected: str) -> None:
    assert kept(told(BEFORE, AFTER), text) == expected


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        ("decimal(9, 2)", "decimal(12, 2)", "-----"),
        ("decimal(9, 2)", "decimal(12, 4)", "-----"),
        ("decimal(12, 2)", "decimal(9, 2)", "KK-K-"),
        ("decimal(9, 4)", "decimal(12, 2)", "KK-K-"),
        ("decimal(9, 2)", "decimal(9, 4)", "KK-K-"),  # fewer digits before the point
        ("float", "double", "-----"),
        ("double", "float", "KK-K-"),
        ("long", "double", "KK-K-"),
    ],
)
def test_bounds_of_narrower_numbers_are_those_of_wider_ones(
    told: Told, then: str, now: str, expected: str
) -> None:
    table = told([*BEFORE, (8, "amount", then)], [*AFTER, (8, "amount", now)])
    assert kept(table, "amount < 0") == expected


def test_a_history_without_changes_changes_nothing(golden: Mapping[str, Path], told: Told) -> None:
    same = told(AFTER, AFTER)
    for text in ("account_id = 'ACC-E'", "txn_id > 'TXN-016'", "currency = 'EUR'"):
        assert kept(same, text) == kept(golden["cow_v9_txns_simple_meta"], text)
    assert any("evolved on read" in note for note in prune(same, "currency = 'EUR'").notes)


def test_a_damaged_history_leaves_the_partitions(told: Told) -> None:
    table = told(BEFORE, AFTER)
    (table / ".hoodie" / ".schema" / f"{LAST}.schemacommit").write_text("{")
    result = prune(table, "account_id = 'nobody' AND region = 'eu'")
    assert "".join("K" if keep else "-" for keep in result.keep) == "-KK--"
    assert any("statistics are not used" in note for note in result.notes)
