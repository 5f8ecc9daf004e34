"""Merging of records with the same key."""

import io
import json
from typing import Any

import fastavro
import pytest

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.avro_columns import decode_columns, decode_with_numpy
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records.metadata_records import decode, is_deleted, merge
from pyhudi_expr.tables.mdt.store.statistics import column_statistics
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError
from tests.tables.mdt.entry_rows import bounds_of


def files(**entries: int | None) -> dict[str, Any]:
    """Sizes by name; None: deleted."""
    infos = {n: {"size": s or 0, "isDeleted": s is None} for n, s in entries.items()}
    return {"type": 2, "filesystemMetadata": infos}


def stats(
    low: Any = None,
    high: Any = None,
    values: int | None = 4,
    nulls: int | None = 0,
    wrapper: str = "LongWrapper",
    **changes: Any,
) -> dict[str, Any]:
    low, high = ((f"ns.{wrapper}", {"value": v}) if v is not None else None for v in (low, high))
    entry = {"fileName": "f", "columnName": "c", "minValue": low, "maxValue": high}
    entry |= {"valueCount": values, "nullCount": nulls, "totalSize": 0, "totalUncompressedSize": 0}
    entry |= {"isDeleted": False, "isTightBound": False, "valueType": None, **changes}
    return {"type": 3, "ColumnStatsMetadata": entry}


def merged(old: dict[str, Any], new: dict[str, Any]) -> tuple[Any, ...]:
    """Bounds and counts of the merged entry."""
    found = column_statistics([b"k"], [merge(old, new, "f")])
    counts = (found.value_count[0].as_py(), found.null_count[0].as_py())
    _, low, high = bounds_of(found, 0)
    return (low, high, *counts)


UNKNOWN = (None, None, None, None)


def test_files_are_added_and_deleted() -> None:
    both = merge(files(a=1, b=2), files(b=None, c=3), "f")
    assert both["filesystemMetadata"] == files(a=1, c=3)["filesystemMetadata"]


def test_a_first_deletion_is_kept() -> None:
    assert merge(files(a=1), files(b=None), "f") == files(a=1, b=None)


def test_the_larger_size_of_a_file_is_kept() -> None:
    assert merge(files(a=5), files(a=3), "f") == files(a=5)


def test_statistics_are_widened() -> None:
    assert merged(stats(3, 5), stats(1, 4)) == (1, 5, 8, 0)


def test_exact_statistics_replace_older_ones() -> None:
    assert merged(stats(1, 9), stats(3, 4, isTightBound=True)) == (3, 4, 4, 0)


def test_a_deletion_replaces_and_is_replaced() -> None:
    deleted = stats(isDeleted=True)
    assert is_deleted(merge(stats(1, 9), deleted, "f"))
    assert merged(deleted, stats(3, 4)) == (3, 4, 4, 0)


@pytest.mark.parametrize("wrapper", ["DoubleWrapper", "FloatWrapper"])
def test_a_range_of_zeros_may_hide_nan_and_is_not_widened(wrapper: str) -> None:
    assert merged(stats(0.0, 0.0, wrapper=wrapper), stats(5.0, 6.0, wrapper=wrapper)) == UNKNOWN
    assert merged(stats(5.0, 6.0, wrapper=wrapper), stats(-0.0, 0.0, wrapper=wrapper)) == UNKNOWN


def test_nan_is_not_compared() -> None:
    nan = float("nan")
    assert (
        merged(stats(nan, nan, wrapper="DoubleWrapper"), stats(5.0, 6.0, wrapper="DoubleWrapper"))
        == UNKNOWN
    )


def test_nulls_do_not_change_bounds() -> None:
    assert merged(stats(1, 2), stats(values=3, nulls=3)) == (1, 2, 7, 3)
    assert merged(stats(values=3, nulls=3), stats(1, 2)) == (1, 2, 7, 3)
    assert merged(stats(values=3, nulls=3), stats(values=1, nulls=1)) == (None, None, 4, 4)


def test_bounds_of_an_all_null_text_column_are_unknown() -> None:
    assert merged(stats("a", "b", wrapper="StringWrapper"), stats(values=3, nulls=3)) == UNKNOWN


def test_no_rows_change_no_bounds() -> None:
    assert merged(stats("a", "b", wrapper="StringWrapper"), stats(values=0)) == ("a", "b", 4, 0)


def test_missing_bounds_without_nulls_are_unknown() -> None:
    assert merged(stats(1, 2), stats(values=3, nulls=0)) == UNKNOWN
    assert merged(stats(1, 2), stats(values=None, nulls=None)) == UNKNOWN


def test_bounds_of_different_kinds_are_unknown() -> None:
    assert merged(stats(1, 2), stats("a", "b", wrapper="StringWrapper")) == UNKNOWN
    typed = {"typeOrdinal": 12, "additionalInfo": None}
    assert merged(stats(1, 2), stats(1, 2, valueType=typed)) == UNKNOWN


def test_texts_are_compared_by_code_points() -> None:
    old = stats("\ufffd", "\ufffd", wrapper="StringWrapper")
    new = stats("\U0001f600", "\U0001f600", wrapper="StringWrapper")
    assert merged(old, new)[:2] == ("\ufffd", "\U0001f600")


def test_decimals_are_compared_as_numbers() -> None:
    typed = {"typeOrdinal": 10, "additionalInfo": "9,2"}
    old = stats(b"\xff", b"\xff", wrapper="BytesWrapper", valueType=typed)
    new = stats(b"\x01", b"\x01\x00", wrapper="BytesWrapper", valueType=typed)
    assert merged(old, new)[:2] == (b"\xff", b"\x01\x00")


def test_records_of_different_kinds_cannot_be_merged() -> None:
    with pytest.raises(CorruptFile, match="kinds 2 and 3"):
        merge(files(a=1), stats(1, 2), "f")


def record(*fields: Any, name: str = "r") -> dict[str, Any]:
    kinds = {f"f{n}": kind for n, kind in enumerate(fields)}
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": n, "type": k} for n, k in kinds.items()],
    }


def nested(depth: int) -> Any:
    """A record of two records of two records ... of nothing."""
    inner: Any = record(name="r0")
    for level in range(1, depth):
        inner = record(inner, f"r{level - 1}", name=f"r{level}")
    return inner


#: An array of 2**50 items, and its end.
ENDLESS = b"\x80\x80\x80\x80\x80\x80\x80\x04\x00"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (record({"type": "array", "items": "null"}), ENDLESS),
        (record({"type": "array", "items": {"type": "null"}}), ENDLESS),
        (record({"type": "array", "items": {"type": "fixed", "name": "x", "size": 0}}), ENDLESS),
        (record("int", {"type": "array", "items": record(name="e")}), b"\x02" + ENDLESS),
        (record("int", {"type": "array", "items": record("null", name="e")}), b"\x02" + ENDLESS),
        (record("int", nested(60)), b"\x02"),
        (record("r"), b""),
    ],
)
def test_arrays_of_empty_values_are_limited(schema: Any, value: bytes) -> None:
    with pytest.raises(CorruptFile, match="many in no bytes"):
        decode(json.dumps(schema), [value], "f")
    for columns in (decode_columns, decode_with_numpy):
        with pytest.raises(UndecodedError, match="many in no bytes"):
            columns(json.dumps(schema), ByteStrings.of([value]))


def test_arrays_and_optional_values_are_read() -> None:
    items = {"type": "array", "items": ["null", "e"]}
    schema = record(["null", record("null", "int", name="e")], items, "null")
    value = {"f0": None, "f1": [None, {"f0": None, "f1": 7}], "f2": None}
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    assert decode(json.dumps(schema), [target.getvalue()], "f") == [
        {"f0": None, "f1": [None, {"f0": None, "f1": 7}], "f2": None}
    ]
