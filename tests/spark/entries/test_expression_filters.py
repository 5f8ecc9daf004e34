"""Filters of expressions: one for each file with all its values, however its rows are batched."""

from __future__ import annotations

import itertools

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.spark.entries.expression_index import filter_maker
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.records.bloom_filter import HashedKeys, parse
from pyhudi_expr.tables.mdt.records.metadata_records import decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA

_SCHEMA = pa.schema([("partition", pa.string()), ("file", pa.string()), ("value", pa.string())])
_NAME = "f{}-0_0-0-0_20260101000000000.parquet"
values = st.lists(st.none() | st.sampled_from(["a", "b", "c", "d", ""]), min_size=1, max_size=6)


@given(st.lists(values, min_size=1, max_size=4), st.sets(st.integers(1, 24)))
def test_a_file_has_one_filter_with_all_its_values(
    files: list[list[str | None]], cuts: set[int]
) -> None:
    rows = [
        (f"p={number // 2}", _NAME.format(number), value)
        for number, held in enumerate(files)
        for value in held
    ]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    whole = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    batches = [whole.slice(a, b - a) for a, b in itertools.pairwise(ends)]

    filter_rows = [row for batch in filter_maker(2)(batches) for row in batch.to_pylist()]
    filters = {row["key"]: row["value"] for row in filter_rows}
    assert len(filters) == len(filter_rows) == len(files)
    for number, held in enumerate(files):
        key = bloom_filter_key(f"p={number // 2}", _NAME.format(number)).encode()
        (record,) = decode(RECORD_SCHEMA, [filters[key]], "made")
        found = record["BloomFilterMetadata"]
        filter_ = parse(found["type"], bytes(found["bloomFilter"]))
        present = [value for value in held if value is not None]
        assert filter_.is_empty == (not present)
        for value in present:
            assert filter_.may_hold_any(HashedKeys(ByteStrings.of([value.encode()])))
