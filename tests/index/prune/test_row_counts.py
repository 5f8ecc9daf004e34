"""Row counts of a result: exact counts are those of the Parquet files."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.listing import TableView

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


def counted(golden, name, predicate, view=TableView.SNAPSHOT):
    """The result, and the rows of the files that it keeps."""
    request, pruner = PruneRequest(parse_predicate(predicate), view), Pruner()
    snapshot = pruner.open(str(golden[name]), request.view, request.as_of)
    result = pruner.prune_snapshot(snapshot, request)
    return result, result.rows_kept(snapshot.row_counts())


def rows_in_files(table: Path, result) -> int:
    bases = [path for path in result.kept_paths() if path.endswith(".parquet")]
    return sum(pq.read_metadata(table / path).num_rows for path in bases)


@pytest.mark.parametrize("view", TableView, ids=lambda view: view.name.lower())
@pytest.mark.parametrize("name", TABLES)
def test_exact_row_counts_equal_those_of_the_files(golden, name, view):
    result, found = counted(golden, name, "true", view)
    has_logs = bool(result.listing.file_is_log.any())
    if found is not None:
        assert found.exact is not has_logs
    if found is not None and found.exact:
        assert found.rows == rows_in_files(golden[name], result)


def test_most_tables_have_exact_row_counts(golden):
    known = [counted(golden, name, "true")[1] for name in TABLES]
    assert sum(found is not None and found.exact for found in known) >= 3


def test_only_rows_of_kept_files_are_counted(golden):
    name = "cow_v9_txns_simple_meta"
    result, found = counted(golden, name, "region = 'us'")
    assert found.rows == rows_in_files(golden[name], result)
    assert found.rows < counted(golden, name, "true")[1].rows
    assert counted(golden, name, "region = 'mars'")[1].rows == 0
