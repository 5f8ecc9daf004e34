"""No file with a match is excluded, by statistics entries or by footers, whatever the rows.

Rows become statistics as Hudi records them, including its defects, or a Parquet file whose footer
is read. The results are compared row by row with those of every engine.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds, Kind
from pyhudi_expr.index.statistics import parquet_footers
from pyhudi_expr.index.statistics.statistics_decoding import decode, decode_merged
from pyhudi_expr.tables.storage import Storage
from tests.example_counts import examples
from tests.expr.statistics import Row
from tests.expr.strategies import Case, cases
from tests.expr.test_soundness import assert_sound
from tests.index.statistics_entries import Entry, entries

SETTINGS = settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

_TIMES = {10**3: "ms", 10**6: "us", 10**9: "ns"}


@dataclass(frozen=True)
class Writer:
    """How a file's statistics were written.

    version: of the index. log: for a log file, with its own statistics. merged: bounds of parts
    were merged as Java values. hides: texts, binaries and floats had no footer statistics.
    """

    version: int
    log: bool
    merged: bool
    hides: bool


@dataclass(frozen=True)
class RecordedStatistics:
    """The `column_stats` of files with known rows."""

    files: Sequence[Sequence[Row]]
    writer: Writer

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        wrapper, value_type, info = encoding(column, self.writer.version)
        stored = [self.entry([row[column.name] for row in rows], column) for rows in self.files]
        found = entries(wrapper, stored, value_type, info)
        return decode(found, column, np.full(len(stored), self.writer.log)).bounds

    def entry(self, values: Sequence[Any], column: BoundColumn) -> Entry:
        """Hudi's entry for a file with these values."""
        kind, writer = column.domain.kind, self.writer
        known = [value for value in values if value is not None]
        nulls = len(values) - len(known)
        has_nan = kind is Kind.FLOAT and any(math.isnan(value) for value in known)
        if not writer.log and (has_nan or (writer.hides and kind is Kind.FLOAT)):
            return 0.0, 0.0, nulls, len(values)
        if writer.hides and not writer.log and kind in (Kind.TEXT, Kind.BINARY):
            return None, None, len(values), len(values)
        if not known:
            zero = None if writer.log else ZERO.get(kind)
            return zero, zero, nulls, len(values)
        order: Any = JAVA_ORDER.get(kind) if writer.merged or writer.log else None
        low, high = min(known, key=order), max(known, key=order)
        if has_nan:
            high = math.nan
        return (
            stored_as(low, column, writer.version),
            stored_as(high, column, writer.version),
            (nulls),
            len(values),
        )


#: How a footer with only nulls is recorded, for values that Parquet stores as integers.
ZERO: dict[Kind, Any] = {
    **{Kind.BOOLEAN: False, Kind.INTEGER: 0, Kind.DATE: 0, Kind.FLOAT: 0.0},
    **{Kind.WALL_CLOCK: 0, Kind.INSTANT: 0},
}
JAVA_ORDER = {Kind.TEXT: lambda text: text.encode("utf-16-be")}


def encoding(column: BoundColumn, version: int) -> tuple[str, str | None, str | None]:
    """Wrapper, value type and its parameters."""
    domain, is_new = column.domain, version == 2
    match domain.kind:
        case Kind.BOOLEAN:
            return "BooleanWrapper", "boolean" if is_new else None, None
        case Kind.INTEGER if domain.bits <= 32:
            return "IntWrapper", "int" if is_new else None, None
        case Kind.INTEGER:
            return "LongWrapper", "long" if is_new else None, None
        case Kind.FLOAT if domain.bits == 32:
            return "FloatWrapper", "float" if is_new else None, None
        case Kind.FLOAT:
            return "DoubleWrapper", "double" if is_new else None, None
        case Kind.TEXT:
            return "StringWrapper", "string" if is_new else None, None
        case Kind.BINARY:
            return "BytesWrapper", "bytes" if is_new else None, None
        case Kind.DATE:
            return ("IntWrapper", "date", None) if is_new else ("DateWrapper", None, None)
        case Kind.DECIMAL if is_new:
            return "BytesWrapper", "decimal", f"{domain.precision},{domain.scale}"
        case Kind.DECIMAL:
            return "DecimalWrapper", None, None
    local = "local " if domain.kind is Kind.WALL_CLOCK else ""
    return "LongWrapper", f"{local}timestamp {_TIMES[domain.units]}" if is_new else None, None


def stored_as(value: Any, column: BoundColumn, version: int) -> Any:
    """A bound in its wrapper."""
    if column.domain.kind is not Kind.DECIMAL:
        return value
    scale = column.domain.scale if version == 2 else 15
    with_scale = int(value.as_tuple().exponent)
    digits = int("".join(map(str, value.as_tuple().digits))) * 10 ** (scale + with_scale)
    unscaled = -digits if value.is_signed() else digits
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)


WRITERS = st.builds(Writer, st.sampled_from((1, 2)), st.booleans(), st.booleans(), st.booleans())


@SETTINGS
@given(cases(), WRITERS)
def test_recorded_entries_exclude_no_match(case: Case, writer: Writer) -> None:
    assert_sound(replace(case, statistics=RecordedStatistics(case.files, writer)))


@dataclass(frozen=True)
class MergedStatistics:
    """The `partition_stats` of partitions, each with some of the files."""

    partitions: Sequence[Sequence[Sequence[Row]]]
    writer: Writer

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        wrapper, value_type, info = encoding(column, self.writer.version)
        stored = [self.entry(files, column) for files in self.partitions]
        return decode_merged(entries(wrapper, stored, value_type, info), column).bounds

    def entry(self, files: Sequence[Sequence[Row]], column: BoundColumn) -> Entry:
        """Hudi's merge of the files' entries: bounds in Java's order, counts added."""
        own = RecordedStatistics(files, self.writer)
        parts = [own.entry([row[column.name] for row in rows], column) for rows in files]
        nulls, values = sum(part[2] or 0 for part in parts), sum(part[3] or 0 for part in parts)
        order: Any = JAVA_ORDER.get(column.domain.kind)
        if column.domain.kind is Kind.DECIMAL:
            order = lambda unscaled: int.from_bytes(unscaled, "big", signed=True)  # noqa: E731
        lows = [part[0] for part in parts if part[0] is not None]
        highs = [part[1] for part in parts if part[1] is not None]
        if not lows:
            return None, None, nulls, values
        return min(lows, key=order), max(highs, key=order), nulls, values


@SETTINGS
@given(cases(), WRITERS)
def test_merged_entries_exclude_no_match(case: Case, writer: Writer) -> None:
    rows = tuple(row for file in case.files for row in file)
    merged = MergedStatistics([case.files], replace(writer, log=False))
    assert_sound(replace(case, files=(rows,), statistics=merged))


@dataclass(frozen=True)
class FooterStatistics:
    """The footers of Parquet files in a directory."""

    directory: str
    files: int

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        names = [f"{n}.parquet" for n in range(self.files)]
        [found] = parquet_footers.read_bounds(Storage.open(self.directory), names, [column])
        return found


@SETTINGS
@given(cases(), st.sampled_from([1, 2, 1000]), st.booleans())
def test_footers_exclude_no_match(case: Case, row_group: int, decimals_as_integers: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for n, rows in enumerate(case.files):
            pq.write_table(
                table_of(case.schema, rows),
                Path(directory) / f"{n}.parquet",
                row_group_size=row_group,
                store_decimal_as_integer=decimals_as_integers,
                version="2.6",
            )
        assert_sound(replace(case, statistics=FooterStatistics(directory, len(case.files))))


def table_of(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    arrays = []
    for field in schema:
        if pa.types.is_struct(field.type):
            inner = [
                pa.array([row[f"{field.name}.{part.name}"] for row in rows], part.type)
                for part in field.type
            ]
            arrays.append(pa.StructArray.from_arrays(inner, fields=list(field.type)))
        else:
            arrays.append(pa.array([row[field.name] for row in rows], field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
