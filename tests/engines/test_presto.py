"""Presto with the example plugin: the rows are those of its own connector, from fewer files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from devtools.matrix import FILES, Matrix
from devtools.tables import TableType
from tests.engines.conditions import OTHERS, SKIPPING, expected_ids
from tests.engines.conftest import PrestoTables
from tests.engines.engine_queries import OFF, Ids

pytestmark = pytest.mark.engines

Matrices = Mapping[TableType, Matrix]

#: The tables of Presto, by the name that Hudi's sync gives them.
TABLES = {"cow": (TableType.COW, ""), "rt": (TableType.MOR, "_rt")}


#: Presto's own connector fails where these are asked of a table with log files: the Hudi 0.14 in it
#: wants classes of Hive 3 for dates and times.
_UNREADABLE = ("dt ", "ts ", "u > ")


def _asked(conditions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each table with the conditions that Presto's own connector answers about it."""
    for view in TABLES:
        for condition in conditions:
            if view != "rt" or not condition.startswith(_UNREADABLE):
                yield view, condition


def ask(presto: PrestoTables, matrices: Matrices, view: str, condition: str) -> tuple[Ids, Ids]:
    """A query by Presto's own connector and by ours; the rows are those of DuckDB."""
    type_, suffix = TABLES[view]
    name = matrices[type_].table.name + suffix
    own = presto.queries.ids(f"hudi.default.{name}", condition, {})
    pruned = presto.queries.ids(f"pyhudi.default.{name}", condition)
    assert own.ids == expected_ids(matrices[type_].rows, condition)
    assert pruned.ids == own.ids
    return own, pruned


@pytest.mark.parametrize(("view", "condition"), list(_asked(SKIPPING)))
def test_files_that_cannot_match_are_not_read(
    presto: PrestoTables, presto_matrices: Matrices, view: str, condition: str
) -> None:
    own, pruned = ask(presto, presto_matrices, view, condition)
    assert pruned.counted("ScansPRUNED") == 1
    assert 0 < pruned.counted("SplitsDropped") <= pruned.counted("SplitsListed") <= FILES
    assert pruned.result.rows_read < own.result.rows_read


@pytest.mark.parametrize(("view", "condition"), list(_asked(OTHERS)))
def test_other_conditions_find_their_rows(
    presto: PrestoTables, presto_matrices: Matrices, view: str, condition: str
) -> None:
    ask(presto, presto_matrices, view, condition)


def test_without_pruning_every_split_is_read(
    presto: PrestoTables, presto_matrices: Matrices
) -> None:
    matrix = presto_matrices[TableType.COW]
    found = presto.queries.ids(f"pyhudi.default.{matrix.table.name}", "i = 3005", OFF)
    assert found.ids == expected_ids(matrix.rows, "i = 3005")
    assert found.counted("SplitsListed") == 0
    assert found.result.rows_read == len(matrix.rows)


def test_base_files_alone_are_pruned_too(presto: PrestoTables, presto_matrices: Matrices) -> None:
    name = f"{presto_matrices[TableType.MOR].table.name}_ro"
    own = presto.queries.ids(f"hudi.default.{name}", "i = 3005", {})
    pruned = presto.queries.ids(f"pyhudi.default.{name}", "i = 3005")
    assert pruned.ids == own.ids == [8005]
    assert pruned.counted("SplitsDropped") == FILES - 1


def test_both_sides_of_a_join_are_pruned(presto: PrestoTables, presto_matrices: Matrices) -> None:
    query = (
        "SELECT count(*), min(a.s) FROM {0}.default.{1} a JOIN {0}.default.{1} b ON a.id = b.id"
        " WHERE a.i BETWEEN 0 AND 2000 AND b.dt < DATE '1970-11-01'"
    )
    name = presto_matrices[TableType.COW].table.name
    own = presto.queries.client.run(query.format("hudi", name))
    pruned = presto.queries.client.run(query.format("pyhudi", name))
    assert pruned.rows == own.rows
    assert own.rows[0][0]
    assert pruned.counters["pyhudiScansPRUNED"] == 2
    assert pruned.rows_read < own.rows_read / 2
