"""Audits of tables that Hudi's own writers (Spark, Flink) wrote: only true findings.

Where there is one, the test computes the fault from the files itself.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.manage.audit.findings import Audit, Fault, Severity
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    RECORD_INDEX,
    RECORD_KEY,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.log_files import LogFile
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

_OF_SPARK = [
    "cow_v9_txns_simple_meta",
    "mor_v9_txns_simple_meta",
    "mor_v6_metadata_pending_compaction",
    "mor_v8_metadata_pending_compaction",
]


def audited(path: Path) -> Audit:
    return audit(HudiTable.open(str(path)), AuditOptions())


@pytest.mark.parametrize("name", _OF_SPARK)
def test_right_tables_of_hudi_have_no_finding(golden: Mapping[str, Path], name: str) -> None:
    found = audited(golden[name])
    of_logs = ("column_stats: log files, to which several commits append",)
    assert (found.findings, found.unchecked) == ((), of_logs if "mor_v6" in name else ())
    assert len(found.checked) >= 4


@pytest.mark.parametrize("name", ["cow_v9_txns_nonpart_nometa", "mor_v6_simplekeygen_nonhivestyle"])
def test_without_a_metadata_table_the_timeline_says_which_files_are_lost(
    golden: Mapping[str, Path], name: str, tmp_path: Path
) -> None:
    shutil.copytree(golden[name], tmp_path / "table")
    shutil.rmtree(tmp_path / "table" / METADATA_DIR, ignore_errors=True)
    table = HudiTable.open(str(tmp_path / "table"))
    assert not [one for one in audited(tmp_path / "table").findings if one.fault is Fault.FILE_LOST]
    listing = table.listing()
    newest = listing.paths(np.array([listing.num_files - 1]))[0]
    (tmp_path / "table" / newest).unlink()
    (found,) = [one for one in audited(tmp_path / "table").findings if one.fault is Fault.FILE_LOST]
    assert found.file == newest
    assert found.severity is Severity.ROWS_LOST


def test_a_file_in_another_partition_than_that_of_its_write_is_misplaced(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "table"
    shutil.copytree(golden["mor_v6_simplekeygen_nonhivestyle"], path)
    shutil.rmtree(path / METADATA_DIR, ignore_errors=True)
    listing = HudiTable.open(str(path)).listing()
    (moved,) = listing.paths(np.array([listing.num_files - 1]))
    other = next(one for one in listing.partitions.to_pylist() if not moved.startswith(f"{one}/"))
    (path / moved).rename(path / other / Path(moved).name)
    faults = {(one.fault, one.file) for one in audited(path).findings}
    assert (Fault.FILE_MISPLACED, f"{other}/{Path(moved).name}") in faults


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_log_file_that_no_list_has_is_lost_if_its_write_is_complete(
    golden: Mapping[str, Path], tmp_path: Path, *, is_complete: bool
) -> None:
    """In version 6 a log file has the instant of its base file in its name, and not its own."""
    table = tmp_path / "table"
    shutil.copytree(golden["mor_v6_metadata_pending_compaction"], table)
    log = next(one for one in sorted(table.glob("**/.*.log.*")) if ".hoodie" not in one.parts)
    content, (block,) = log.read_bytes(), LogFile(*opened(log)).blocks
    assert block.instant is not None
    if not is_complete:
        content = content.replace(block.instant.encode(), b"20990101000000000")
    name, _, version = log.name.partition(".log.")
    unlisted = log.with_name(f"{name}.log.9{version[1:]}")
    unlisted.write_bytes(content)
    found = [one.file for one in audited(table).findings if one.fault is Fault.FILE_NOT_LISTED]
    assert found == ([str(unlisted.relative_to(table))] if is_complete else [])


@pytest.mark.parametrize("is_virtual", [True, False])
def test_a_log_file_with_a_damaged_block_is_named(
    golden: Mapping[str, Path], tmp_path: Path, *, is_virtual: bool
) -> None:
    """Hudi's readers skip it without a word."""
    table = Path(shutil.copytree(golden["mor_v6_simplekeygen_nonhivestyle"], tmp_path / "table"))
    if is_virtual:
        properties = table / ".hoodie" / "hoodie.properties"
        text = properties.read_text()
        properties.write_text(f"{text}\nhoodie.populate.meta.fields=false\n")
    listing = HudiTable.open(str(table)).listing()
    logs = listing.paths(np.flatnonzero(listing.file_is_log))
    (name,) = logs
    log, content = table / name, (table / name).read_bytes()
    log.write_bytes(content[:6] + bytes(8) + content[14:])  # the block's length
    assert any(name in one for one in audited(table).unchecked)


@pytest.mark.parametrize("is_archived", [True, False])
def test_a_file_of_a_dead_writer_is_no_part_of_the_table(
    golden: Mapping[str, Path], tmp_path: Path, *, is_archived: bool
) -> None:
    """A task that ends after the rollback leaves it; only the archive knows old writes."""
    table = tmp_path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], table)
    complete, other = "20200101000000000", "20200101000000001"
    history = table / ".hoodie" / "timeline" / "history"
    history.mkdir(exist_ok=True)
    archived = pa.table({"instantTime": [complete], "completionTime": [other]})
    pq.write_table(archived, history / "1.parquet")
    (history / "manifest_1").write_text(json.dumps({"files": [{"fileName": "1.parquet"}]}))
    (history / "_version_").write_text("1")
    base = next(table.glob("region=*/*.parquet"))
    instant = complete if is_archived else other
    left = base.with_name(f"11111111-1111-1111-1111-111111111111-0_0-1-1_{instant}.parquet")
    shutil.copy(base, left)
    found = [one.file for one in audited(table).findings if one.fault is Fault.FILE_NOT_LISTED]
    assert found == ([str(left.relative_to(table))] if is_archived else [])


def opened(log: Path) -> tuple[pa.BufferReader, int, str]:
    content = log.read_bytes()
    return pa.BufferReader(content), len(content), str(log)


def test_a_range_of_a_log_file_that_excludes_its_rows_is_found(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    table = tmp_path / "table"
    shutil.copytree(golden["mor_v8_metadata_pending_compaction"], table)
    metadata = MetadataTable.open(HudiTable.open(str(table)))
    assert metadata is not None
    listing = metadata.table.listing()
    logs = listing.file_name.filter(pa.array(listing.file_is_log)).to_pylist()
    records = metadata.scan(COLUMN_STATS)
    key, payload = next(
        (key, payload)
        for key, payload in zip(records.keys, records.payloads, strict=True)
        if (stats := payload["ColumnStatsMetadata"])["fileName"] in logs
        and stats["columnName"] == RECORD_KEY
        and stats["minValue"]
    )
    stats = payload["ColumnStatsMetadata"]
    stats["isTightBound"] = True
    for end in ("minValue", "maxValue"):
        stats[end] = (stats[end][0], {"value": "zzz"})
    _append(table, COLUMN_STATS, key, payload)
    (one,) = audited(table).findings
    assert (one.fault, one.subject) == (Fault.RANGE_TOO_NARROW, RECORD_KEY)
    assert one.file.endswith(stats["fileName"])


def test_a_key_that_hudi_wrote_twice_is_found(golden: Mapping[str, Path]) -> None:
    path = golden["cow_v9_timebasedkeygen_nonhivestyle"]
    found = audited(path)
    listing = HudiTable.open(str(path)).listing()
    keys = Counter(
        key
        for name in listing.paths(np.arange(listing.num_files))
        for key in pq.read_table(path / name, partitioning=None)["_hoodie_record_key"].to_pylist()
    )
    assert [key for key, count in keys.items() if count > 1] == ["TXN-001"]
    (one,) = found.findings
    assert (one.partition, one.fault, one.subject) == (RECORD_INDEX, Fault.KEY_TWICE, "'TXN-001'")


@pytest.mark.parametrize("name", ["cow_state", "mor_bucket"])
def test_ranges_of_floats_with_nan_are_found_in_tables_of_flink(
    flink: Mapping[str, Path], name: str
) -> None:
    """Apache/hudi issue 18754."""
    path = flink[name]
    with_nan = {
        str(file.relative_to(path))
        for file in path.glob("*/*.parquet")
        if np.isnan(pq.read_table(file, partitioning=None)["score"].drop_null()).any()
    }
    found = audited(path).findings
    assert {one.file for one in found} <= with_nan
    assert found
    for one in found:
        assert (one.fault, one.subject) == (Fault.RANGE_WITHOUT_NAN, "score")
        assert one.found == "0.0 to 0.0"


def test_keys_that_a_writer_of_flink_left_out_are_found(flink: Mapping[str, Path]) -> None:
    found = audited(flink["mor_indexed"]).findings
    assert {(one.partition, one.fault) for one in found} == {(RECORD_INDEX, Fault.KEY_MISSING)}


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    return tmp_path / "table"


def _append(path: Path, partition: str, key: str, payload: Payload) -> None:
    """Append a record to the newest log file of its file group, as Hudi's writer would have."""
    metadata = MetadataTable.open(HudiTable.open(str(path)))
    assert metadata is not None
    for group in metadata.groups(partition):
        if key.encode() in group.read(lambda hfile: hfile.lookup([key.encode()])):
            log, instant = group.logs[-1]
            file = path / ".hoodie" / "metadata" / log.path
            own = [(key.encode(), payloads.encoded(payload))]
            assert instant is not None
            file.write_bytes(file.read_bytes() + log_writer.records(instant, own))


@pytest.mark.parametrize("partition", [COLUMN_STATS, RECORD_INDEX, FILES])
def test_a_changed_record_of_hudi_is_found(table: Path, partition: str) -> None:
    metadata = MetadataTable.open(HudiTable.open(str(table)))
    assert metadata is not None
    records = metadata.scan(partition)
    listed = metadata.table.listing().file_name.to_pylist()
    for key, payload in zip(records.keys, records.payloads, strict=True):
        stats, place = payload["ColumnStatsMetadata"], payload["recordIndexMetadata"]
        if partition == COLUMN_STATS:
            if stats["columnName"] != "txn_id" or stats["fileName"] not in listed:
                continue
            stats["isTightBound"] = True  # replaces the older bounds
            stats["minValue"] = (stats["minValue"][0], {"value": "ZZZ"})
            stats["maxValue"] = (stats["maxValue"][0], {"value": "ZZZZ"})
        elif partition == RECORD_INDEX:
            place["fileIdLowBits"] ^= 1
        else:
            names = payload["filesystemMetadata"].keys() & set(listed)
            if not names:
                continue
            name = min(names)
            payload["filesystemMetadata"][name]["size"] += 1000
        _append(table, partition, key, payload)
        break
    found = audited(table).findings
    assert {one.partition for one in found} == {partition}
    assert {one.severity for one in found} <= {Severity.ROWS_LOST, Severity.QUERY_FAILS}
