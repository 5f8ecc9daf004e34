"""The rows of what a query keeps: exact means exact, as the Parquet files have them."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.table.listing import TableView

TABLES = [
    "cow_v6_simplekeygen_hivestyle_no_metafields",
    "cow_v8_complexkeygen_hivestyle",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_txns_nonpart_nometa",
    "cow_v9_txns_simple_meta",
    "mor_v6_simplekeygen_nonhivestyle",
    "mor_v8_metadata_pending_compaction",
    "mor_v9_txns_simple_meta",
]


def asked(golden, name, predicate, view=TableView.SNAPSHOT):
    request = PruneRequest(parse_predicate(predicate), view)
    return Pruner().prune(str(golden[name]), request)


def rows_in_files(table: Path, result) -> int:
    bases = [path for path in result.kept_paths() if path.endswith(".parquet")]
    return sum(pq.read_metadata(table / path).num_rows for path in bases)


@pytest.mark.parametrize("view", TableView, ids=lambda view: view.name.lower())
@pytest.mark.parametrize("name", TABLES)
def test_exact_counts_are_those_of_the_files(golden, name, view):
    result = asked(golden, name, "true", view)
    found = result.rows_kept()
    has_logs = bool(result.listing.file_is_log.any())
    if found is not None:
        assert found.exact is not has_logs
    if found is not None and found.exact:
        assert found.rows == rows_in_files(golden[name], result)


def test_most_tables_tell_their_rows(golden):
    told = [asked(golden, name, "true").rows_kept() for name in TABLES]
    assert sum(found is not None and found.exact for found in told) >= 3


def test_only_what_is_kept_is_counted(golden):
    name = "cow_v9_txns_simple_meta"
    result = asked(golden, name, "region = 'us'")
    assert result.rows_kept().rows == rows_in_files(golden[name], result)
    assert result.rows_kept().rows < asked(golden, name, "true").rows_kept().rows
    assert asked(golden, name, "region = 'mars'").rows_kept().rows == 0
