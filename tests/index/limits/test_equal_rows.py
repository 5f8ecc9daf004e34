"""Rows of partitions are counted by the index: against the rows of the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.limits.sure_rows import EqualRows, equal_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.rows.scan import scan_snapshot


def counted(table: Path, predicate: str, *names: str) -> EqualRows | None:
    pruner, request = Pruner(), PruneRequest(parse_predicate(predicate), semantics=here("UTC"))
    snapshot = pruner.open(str(table), request.view, request.as_of)
    return equal_rows(snapshot, request, pruner.prune_snapshot(snapshot, request), names)


def read(table: Path, name: str) -> Counter[tuple[bytes]]:
    pruner = Pruner()
    snapshot = pruner.open(str(table))
    scan = scan_snapshot(pruner, snapshot, ["true"], zone="UTC")
    rows = pa.Table.from_batches(scan.batches(), scan.schema)
    return Counter((str(value).encode(),) for value in rows[name].to_pylist())


def test_rows_are_counted_by_partition(golden: Mapping[str, Path]) -> None:
    table = golden["cow_v9_txns_simple_meta"]
    found = counted(table, "true", "REGION")
    assert found is not None
    assert [column.name for column in found.columns] == ["region"]
    every = read(table, "region")
    assert found.rows == every
    assert len(every) == 3


def test_rows_of_dropped_files_are_not(golden: Mapping[str, Path]) -> None:
    table = golden["cow_v9_txns_simple_meta"]
    found = counted(table, "region <> 'eu'", "region")
    assert found is not None
    every = read(table, "region")
    assert found.rows == Counter({group: n for group, n in every.items() if group != (b"eu",)})


@pytest.mark.parametrize(
    "names", [("txn_id",), ("region", "amount"), ("none",), ("region", "REGION"), ()]
)
def test_other_columns_have_many_values(golden: Mapping[str, Path], names: tuple[str, ...]) -> None:
    assert counted(golden["cow_v9_txns_simple_meta"], "true", *names) is None


def test_rows_of_log_files_are_not_counted(golden: Mapping[str, Path]) -> None:
    table = golden["mor_v8_metadata_pending_compaction"]
    pruner, logged = Pruner(), 0
    for p, q in product(read(table, "p"), read(table, "q")):
        request = PruneRequest(parse_predicate(f"p = '{p[0].decode()}' AND q = '{q[0].decode()}'"))
        snapshot = pruner.open(str(table), request.view, request.as_of)
        result = pruner.prune_snapshot(snapshot, request)
        rows = snapshot.row_counts()
        assert rows is not None
        found = equal_rows(snapshot, request, result, ["q", "p"])
        has_logs = snapshot.listing.slice_has_logs[result.keep]
        logged += int(has_logs.any() and (rows[result.keep] > 0).all())
        assert found is None or not has_logs.any()
    assert logged


def test_no_file_is_no_answer(golden: Mapping[str, Path]) -> None:
    assert counted(golden["cow_v9_txns_simple_meta"], "region = 'nowhere'", "region") is None
