"""Each dropped file is counted once, for the first index that excludes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest


@pytest.mark.parametrize(
    ("predicate", "by_index"),
    [
        ("region = 'us'", {"partition values": 3}),
        ("txn_id = 'TXN-001'", {"partition_stats": 3, "column_stats": 1}),
        ("region = 'us' AND txn_id = 'TXN-001'", {"partition values": 3, "column_stats": 1}),
        (
            "region <> 'eu' AND txn_id IN ('TXN-000', 'TXN-007')",
            {"partition values": 2, "column_stats": 1, "record_index": 1},
        ),
        ("txn_id RLIKE '(?i)x'", {}),
        ("region = 'us' AND region = 'eu'", {"contradiction": 5}),
        ("txn_id = 'TXN-001' AND txn_id = 'TXN-002'", {"contradiction": 5}),
    ],
)
def test_the_first_index_that_excludes_a_file_is_named(
    predicate: str, by_index: dict[str, int], golden: Mapping[str, Path]
) -> None:
    result = Pruner().prune(
        str(golden["cow_v9_txns_simple_meta"]), PruneRequest(parse_predicate(predicate))
    )
    assert result.dropped_by == by_index
    assert sum(by_index.values()) == result.files_total - result.files_kept
