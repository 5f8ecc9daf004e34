"""Which files' rows are evaluated, and by which columns."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.kept_rows import OF_ANY_SIZE, KeptRows, RowEvaluator
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.rows.footer_trust import with_evaluated_rows
from tests.index.prune.matching_slices import INDEXES_ALONE
from tests.rows.nasty_tables import write_nasty_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_nasty_table(tmp_path / "t", Random(1))
    return tmp_path / "t"


def with_property(table: Path, line: str) -> None:
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + line + "\n")


def kept(table: Path, text: str, evaluator: RowEvaluator | None = None) -> KeptRows:
    pruner = Pruner(INDEXES_ALONE)
    request = PruneRequest(parse_predicate(text), reader=PartitionReader.ENGINE)
    snapshot = pruner.open(str(table), request.view, request.as_of)
    result = pruner.prune_snapshot(snapshot, request)
    return (evaluator or RowEvaluator(OF_ANY_SIZE)).rows(result, snapshot.table)


def test_rows_are_judged_by_row_groups(table: Path) -> None:
    found = kept(table, "id = 30")
    assert (found.groups, found.groups_kept, found.num_rows_kept) == (24, 1, 4)
    assert "1 of 24 row groups" in str(found)


def test_what_was_read_is_kept_within_the_limit(table: Path) -> None:
    evaluator = RowEvaluator(OF_ANY_SIZE)
    kept(table, "id = 30", evaluator)
    held = evaluator.nbytes
    assert held > 0
    assert kept(table, "id = 30", evaluator).num_rows_kept == 4
    assert evaluator.nbytes == held
    small = RowEvaluator(replace(OF_ANY_SIZE, cache_bytes=held // 2))
    assert kept(table, "id = 30", small).num_rows_kept == 4
    assert 0 < small.nbytes <= held // 2


def test_columns_that_readers_take_from_paths_prove_nothing_in_files(table: Path) -> None:
    """The files hold other values of the partition column than the path that a reader shows."""
    with_property(table, "hoodie.table.partition.fields=s")
    with_property(
        table, "hoodie.table.keygenerator.class=org.apache.hudi.keygen.SimpleKeyGenerator"
    )
    partition = table / "in_no_file"
    partition.mkdir()
    (table / ".hoodie_partition_metadata").rename(partition / ".hoodie_partition_metadata")
    for file in table.glob("*.parquet"):
        file.rename(partition / file.name)
    found = kept(table, "s = 'in_no_file' AND id >= 0")
    assert found.num_rows == found.num_rows_kept == 96
    assert kept(table, "s = 'in_no_file' AND id = 30").num_rows_kept == 4
    assert kept(table, "s = 'in_no_file'").rows == ()


def test_tables_made_by_bootstrap_are_read_whole(table: Path) -> None:
    with_property(table, "hoodie.bootstrap.base.path=/elsewhere")
    found = kept(table, "id = 30")
    assert found.rows == ()
    assert found.notes


def test_columns_are_found_by_the_names_that_they_had(table: Path) -> None:
    """Two columns of integers have swapped their names since the files were written."""
    types = {"id": "long", "i": "int", "l": "long", "s": "string"}
    before = [(1, "id"), (2, "l"), (3, "i"), (4, "s")]
    after = [(2, "id"), (1, "l"), (3, "i"), (5, "s")]
    versions = [
        {
            "version_id": since,
            "type": "record",
            "fields": [
                {"id": n, "name": name, "optional": True, "type": types[name]} for n, name in fields
            ],
        }
        for since, fields in ((20270101000000000, after), (0, before))
    ]
    directory = table / ".hoodie" / ".schema"
    directory.mkdir()
    instant = "20270101000000000"
    (directory / f"{instant}.schemacommit").write_text(json.dumps({"schemas": versions}))
    (table / ".hoodie" / "timeline" / f"{instant}_{instant}.commit").write_bytes(b"")
    rows = pa.concat_tables(
        [pq.ParquetFile(file).read(["id", "l"]) for file in sorted(table.glob("*.parquet"))]
    )
    found = kept(table, "l = 30")
    assert (found.notes, found.groups_kept, found.num_rows_kept) == ((), 1, 4)
    stored = rows["l"].to_pylist()
    groups = {at // 4 for at, value in enumerate(stored) if value == 2**53 + 1}
    assert groups
    assert kept(table, f"id = {2**53 + 1}").groups_kept == len(groups)
    # A column that was dropped, and added again under its name, has NULL in old files.
    assert kept(table, "s IS NULL").num_rows_kept == len(rows)
    assert kept(table, "s = 'not in a file'").num_rows_kept == len(rows)


def test_columns_that_are_not_in_a_file_prove_nothing(table: Path) -> None:
    """Readers show a column as NULL that a file does not have."""
    for file in table.glob("*.parquet"):
        rows = pq.ParquetFile(file).read().drop_columns(["i"])
        pq.write_table(rows, file, row_group_size=4)
    found = kept(table, "i IS NULL AND id < 8")
    assert found.num_rows_kept == 8


def test_a_file_that_cannot_be_read_is_left_to_the_query(table: Path) -> None:
    damaged = min(table.glob("*.parquet"))
    damaged.write_bytes(b"PAR1" + damaged.read_bytes()[:-4] + b"PARE")
    found = kept(table, "id = 30")
    assert len(found.rows) == 3


def test_a_scan_reads_only_row_groups_with_such_rows(table: Path) -> None:
    """Bounds of the row groups hold the value; dictionaries do not."""
    for file in table.glob("*.parquet"):
        rows = pq.ParquetFile(file).read()
        ids = [1, 9] * (len(rows) // 2)
        rows = rows.set_column(0, rows.field("id"), [ids])
        pq.write_table(rows, file, row_group_size=4)
    found = kept(table, "id = 5")
    local, format_ = fs.LocalFileSystem(), ds.ParquetFileFormat()
    dataset = [format_.make_fragment(str(file), local) for file in table.glob("*.parquet")]
    by_path = {str(table / one.file.path): one for one in found.rows}
    assert with_evaluated_rows(dataset, by_path) == []
    other = kept(table, "id = 9 AND i = 0")
    groups = sum(
        len(one.row_groups)
        for one in with_evaluated_rows(
            dataset, {str(table / one.file.path): one for one in other.rows}
        )
    )
    assert 0 < groups == other.groups_kept < 24


def test_there_are_not_too_many_ranges(tmp_path: Path) -> None:
    """They are joined where the fewest rows are between them."""
    write_nasty_table(tmp_path / "t", Random(1), files=1, groups=1)
    [file] = (tmp_path / "t").glob("*.parquet")
    schema = pq.read_schema(file)
    size = 6000
    columns = {
        field.name: pa.nulls(size, field.type)
        if field.name != "id"
        else np.arange(size) // 2 % 2 + np.where(np.arange(size) >= 5000, 10, 0)
        for field in schema
    }
    rows = pa.table(columns, schema)
    pq.write_table(
        rows, file, write_page_index=True, max_rows_per_page=2, write_batch_size=1, compression=None
    )
    [one] = kept(tmp_path / "t", "id = 0").rows
    ids = np.asarray(rows["id"])
    inside = np.zeros(size, np.bool_)
    for start, end in zip(one.starts.tolist(), one.ends.tolist(), strict=True):
        inside[start:end] = True
    assert inside[ids == 0].all()
    assert len(one.starts) == 1024
    assert not inside[5000:].any()
