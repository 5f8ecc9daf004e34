"""A query as of an instant needs a commit at that instant."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr import scan
from pyhudi_expr.errors import BeforeFirstCommit
from pyhudi_expr.tables.hudi_table import HudiTable

_LONG_AGO = "20000101000000000"


@pytest.mark.parametrize(
    "name", ["cow_v9_txns_simple_meta", "cow_v6_simplekeygen_hivestyle_no_metafields"]
)
def test_the_first_commit_is_the_first_instant(golden, name):
    table = HudiTable.open(str(golden[name]))
    first = table.timeline.writes[0].requested
    table.check_as_of(first)
    table.check_as_of("29990101000000000")
    with pytest.raises(BeforeFirstCommit, match=f"{_LONG_AGO} is before .* first commit, {first}"):
        table.check_as_of(_LONG_AGO)


def test_a_scan_before_the_first_commit_is_an_error(golden):
    with pytest.raises(BeforeFirstCommit):
        scan(str(golden["cow_v9_txns_simple_meta"]), as_of="2000-01-01")


def test_an_archive_that_is_not_read_may_hold_older_commits(golden, tmp_path):
    path = shutil.copytree(golden["cow_v6_simplekeygen_hivestyle_no_metafields"], tmp_path / "t")
    archive = path / ".hoodie" / "archived"
    archive.mkdir(exist_ok=True)
    (archive / ".commits_.archive.1_1-0-1").write_bytes(b"old")
    HudiTable.open(str(path)).check_as_of(_LONG_AGO)


def test_archived_commits_count(golden, tmp_path):
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t")
    history = path / ".hoodie" / "timeline" / "history"
    history.mkdir(exist_ok=True)
    oldest = "20010101000000000"
    rows = pa.table({"instantTime": [oldest], "completionTime": ["20010101000001000"]})
    pq.write_table(rows, history / "1.parquet")
    (history / "manifest_1").write_text(json.dumps({"files": [{"fileName": "1.parquet"}]}))
    (history / "_version_").write_text("1")
    table = HudiTable.open(str(path))
    table.check_as_of(oldest)
    with pytest.raises(BeforeFirstCommit, match=oldest):
        table.check_as_of(_LONG_AGO)
