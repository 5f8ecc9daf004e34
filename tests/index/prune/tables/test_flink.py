"""Tables written by Flink: no predicate on any column drops a slice with a match."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.planner import LookupCost
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.slices.slice_files import file_slices
from pyhudi_expr.tables.slices.slice_rows import SliceReader
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES, Table
from tests.flink_rows import COLUMNS, NAMES
from tests.index.prune.brute_force import Rows, predicates, rows_of
from tests.index.prune.matching_slices import Group, groups, request

ZONE = "America/New_York"
#: Log files without statistics, in partitions with formatted paths: no evidence about the rows.
UNTOLD = {"mor_pending"}
META = ("_hoodie_record_key", "_hoodie_commit_time")


def rows_by_group(path: Path) -> tuple[dict[str, pa.DataType], dict[Group, Rows]]:
    """The columns' types, and the rows of each merged slice."""
    table = HudiTable.open(str(path))
    schema, listing = table.schema(), table.listing()
    reader = SliceReader.of(table, listing.instant)
    names = [*META, *(name for name in COLUMNS if name != "place"), "place.zone", "place.storey"]
    types = {name: schema.field(name).type for name in names if "." not in name}
    types |= {f"place.{field.name}": field.type for field in schema.field("place").type}
    found: dict[Group, Rows] = {}
    empty = pa.schema([*types.items()]).empty_table()
    for one in file_slices(listing):
        batches = [
            pa.table([c.cast(t) for c, t in zip(columns, types.values(), strict=True)], names)
            for columns in reader.columns(one, names)
        ]
        types_found, found[one.partition, one.file_id] = rows_of(
            pa.concat_tables([empty, *batches])
        )
    return types_found, found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_slice_with_a_match_is_dropped(name: str, flink: Mapping[str, Path]) -> None:
    types, by_group = rows_by_group(flink[name])
    every = [row for rows in by_group.values() for row in rows]
    # Flink's own statistics if it wrote them, otherwise the footers.
    pruner, table = Pruner(PruneOptions(footers=True, footer_wait=20)), Table(types, ZONE)
    dropped: set[str] = set()
    for predicate in predicates(types, every):
        result = pruner.prune(str(flink[name]), PruneRequest(predicate, semantics=here(ZONE)))
        dropped |= set(result.dropped_by)
        assert groups(result, kept_only=False) == set(by_group)
        for group in set(by_group) - groups(result):
            for row in by_group[group]:
                for engine in ENGINES:
                    given = truths(predicate, row, table, engine)
                    assert True not in given, (group, predicate, row, engine.name)
    assert bool(dropped) != (name in UNTOLD)


def test_a_record_index_with_keys_deleted_by_flink_is_not_trusted(
    flink: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hudi 0.14 for Flink deletes the entries of updated keys, and adds none."""
    # The files are so small that reading them costs less than reading the index.
    monkeypatch.setattr(LookupCost, "is_worth", lambda *_: True)
    path = flink["mor_indexed"]
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    indexed = {str(key) for key in mdt.scan(RECORD_INDEX).keys}
    pruner, known = Pruner(), set()
    for group, rows in rows_by_group(path)[1].items():
        for row in rows:
            known.add(row["_hoodie_record_key"])
            predicate = f"_hoodie_record_key = '{row['_hoodie_record_key']}'"
            result = pruner.prune(str(path), request(predicate))
            assert [one.name for one in result.evidence][-1] == RECORD_INDEX
            assert group in groups(result), row
    assert known - indexed == {"5", "8", "30", "31"}
