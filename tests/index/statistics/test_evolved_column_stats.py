"""Statistics of a file are looked up by the names that columns had when it was written.

The table is a golden one, with a schema history added: its last write, of two of its five files,
appears to have followed all changes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult

LAST = 20260307162456179
Fields = list[tuple[int, str, str]]
WithHistory = Callable[[Fields, Fields], Path]

#: With field ids: two columns swap names, one changes its type, one is dropped and added again, and
#: one is widened.
BEFORE: Fields = [
    *[(1, "account_id", "string"), (2, "txn_id", "string"), (3, "merchant_name", "int")],
    *[(4, "currency", "string"), (6, "txn_ts", "int"), (7, "region", "string")],
]
AFTER: Fields = [
    *[(1, "txn_id", "string"), (2, "account_id", "string"), (3, "merchant_name", "string")],
    *[(5, "currency", "string"), (6, "txn_ts", "long"), (7, "region", "string")],
]


@pytest.fixture
def with_history(golden: Mapping[str, Path], tmp_path: Path) -> WithHistory:
    """The table with a schema history: its columns until the last write, and since then."""

    def with_history(before: Fields, after: Fields) -> Path:
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

    return with_history


def prune(table: Path, text: str) -> PruneResult:
    return Pruner().prune(str(table), PruneRequest(parse_predicate(text)))


def kept(table: Path, text: str) -> str:
    """A letter for each slice: apac and eu from before, eu of the last write, us of both."""
    return "".join("K" if keep else "-" for keep in prune(table, text).keep)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("account_id = 'TXN-007'", "K--K-"),  # it was txn_id in the old files
        ("account_id = 'TXN-018'", "-----"),  # it holds accounts in the new files
        ("account_id = 'ACC-P'", "--K--"),
        ("txn_id = 'ACC-I'", "KK-K-"),
        (
            "merchant_name = 'Zzz'",
            "KK-K-",
        ),  # a number changed to text: only the new files have bounds
        ("currency = 'USD'", "KK-KK"),  # not the earlier column of that name
        ("txn_ts < 0", "-----"),  # widened
        ("region = 'eu'", "-KK--"),  # from the paths
        ("region = 'eu' AND account_id = 'TXN-012'", "-K---"),
        ("_hoodie_commit_time > '20260307162455'", "--K-K"),
        ("amount > 1", "KKKKK"),  # the history lacks this column
    ],
)
def test_statistics_are_looked_up_by_the_column_name_at_the_files_instant(
    with_history: WithHistory, text: str, expected: str
) -> None:
    assert kept(with_history(BEFORE, AFTER), text) == expected


@pytest.mark.parametrize(
    ("type_before", "type_after", "expected"),
    [
        ("decimal(9, 2)", "decimal(12, 2)", "-----"),
        ("decimal(9, 2)", "decimal(12, 4)", "-----"),
        ("decimal(12, 2)", "decimal(9, 2)", "KK-K-"),
        ("decimal(9, 4)", "decimal(12, 2)", "KK-K-"),
        ("decimal(9, 2)", "decimal(9, 4)", "KK-K-"),  # fewer digits before the decimal point
        ("float", "double", "-----"),
        ("double", "float", "KK-K-"),
        ("long", "double", "KK-K-"),
    ],
)
def test_bounds_of_widened_numbers_are_used(
    with_history: WithHistory, type_before: str, type_after: str, expected: str
) -> None:
    table = with_history([*BEFORE, (8, "amount", type_before)], [*AFTER, (8, "amount", type_after)])
    assert kept(table, "amount < 0") == expected


def test_a_history_without_changes_changes_nothing(
    golden: Mapping[str, Path], with_history: WithHistory
) -> None:
    same = with_history(AFTER, AFTER)
    for text in ("account_id = 'ACC-E'", "txn_id > 'TXN-016'", "currency = 'EUR'"):
        assert kept(same, text) == kept(golden["cow_v9_txns_simple_meta"], text)
    assert any("evolved on read" in note for note in prune(same, "currency = 'EUR'").notes)


def test_with_a_damaged_history_only_partitions_are_pruned(with_history: WithHistory) -> None:
    table = with_history(BEFORE, AFTER)
    (table / ".hoodie" / ".schema" / f"{LAST}.schemacommit").write_text("{")
    result = prune(table, "account_id = 'nobody' AND region = 'eu'")
    assert "".join("K" if keep else "-" for keep in result.keep) == "-KK--"
    assert any("statistics are not used" in note for note in result.notes)
