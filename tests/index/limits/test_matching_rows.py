"""The rows that match are counted where whole slices do: against the rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.limits.sure_rows import matching_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.rows.scan import scan_snapshot

#: Predicates, and whether whole files match in the copy-on-write table.
PREDICATES = {
    "true": True,
    "region = 'us'": True,
    "region <> 'eu'": True,
    "region IN ('us', 'eu') OR region IS NULL": True,
    "amount >= 0": True,
    "amount > 500": False,
    "region <> 'eu' OR amount > 500": False,  # in one partition all do
    "txn_id > 'TXN-0'": True,
    "amount > 500 OR amount IS NULL": False,
    "txn_id IS NOT NULL": True,
    "abs(amount) > 0": True,
    "CAST(amount AS bigint) >= 0 AND upper(region) <> 'EU'": True,
    "NOT (abs(amount) < 0)": True,
    "sqrt(amount) > 500": False,
    "amount >= 0 OR sqrt(amount) > 500": False,  # a function of other values could fail
    "CASE WHEN amount >= 0 THEN 1 END = 1": False,
    "region = 'nowhere'": False,
}


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_counts_and_ends_are_those_of_the_rows(golden: Mapping[str, Path], name: str) -> None:
    pruner, counted = Pruner(), {}
    for text in PREDICATES:
        request = PruneRequest(parse_predicate(text), semantics=here("UTC"))
        snapshot = pruner.open(str(golden[name]), request.view, request.as_of)
        result = pruner.prune_snapshot(snapshot, request)
        rows = matching_rows(pruner, snapshot, request, result)
        counted[text] = rows is not None
        if rows is None:
            continue
        scan = scan_snapshot(pruner, snapshot, [text], zone="UTC")
        matching = pa.Table.from_batches(scan.batches(), scan.schema)
        assert rows.sum() == matching.num_rows, text
        attained = 0
        for summary in snapshot.summaries_of(snapshot.schema, rows):
            if summary.attained and summary.column.domain.kind in (Kind.TEXT, Kind.INTEGER):
                column = matching[summary.column.name]
                ends = pc.min_max(column)
                expected = [ends["min"].as_py(), ends["max"].as_py()]
                found = [
                    end.decode() if isinstance(end, bytes) else end
                    for end in (summary.least, summary.greatest)
                ]
                assert found == expected, (text, summary.column.name)
                assert summary.nulls in (None, column.null_count), (text, summary.column.name)
                attained += 1
        assert attained or name.startswith("mor"), text
    assert counted == PREDICATES or name.startswith("mor"), counted
