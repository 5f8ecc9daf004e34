"""Values in our own secondary indexes: equal values have one text, which queries look up."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.arrays import Mask
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundLiteral, Leaf
from pyhudi_expr.expr.domains import domain_of, float_ordinal
from pyhudi_expr.expr.evaluate import as_array, may_be
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.lookups.value_places import extension_text, lookup_values
from pyhudi_expr.spark.entries.secondary_index import EntryKeys, IndexedColumns
from pyhudi_expr.tables.mdt.bytes.keys import (
    composite_value,
    secondary_shard_key,
    shard,
    split_secondary_key,
)
from pyhudi_expr.tables.mdt.store.index_records import NULL_VALUE, value_texts
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES
from tests.expr.statistics import Row
from tests.expr.strategies import Case, cases, stored


def texts(values: list[Any], type_: pa.DataType) -> list[str | None]:
    return list(value_texts(pa.array(values, type_), type_, "c").to_pylist())


def lookup_text(value: Any, type_: pa.DataType) -> str:
    """The text that a query for the value looks up."""
    domain = domain_of(type_)
    assert domain is not None
    physical = value if isinstance(value, bytes) else float_ordinal(value)
    found = extension_text(BoundLiteral(physical, physical, domain), domain)
    assert found is not None
    return found.decode()


@pytest.mark.parametrize(("type_", "width"), [(pa.float64(), 64), (pa.float32(), 32)])
def test_floats_that_are_equal_have_one_text(type_: pa.DataType, width: int) -> None:
    @settings(max_examples=examples(300))
    @given(st.lists(st.floats(width=width), min_size=2, max_size=6))
    def check(values: list[float]) -> None:
        found = texts([*values, None], type_)
        assert found.pop() is None
        assert found == [lookup_text(value, type_) for value in values]
        for one, text in zip(values, found, strict=True):
            for other, others in zip(values, found, strict=True):
                alike = one == other or (math.isnan(one) and math.isnan(other))
                assert (text == others) == alike

    check()


def test_all_zeros_have_one_text_and_all_nans_have_one() -> None:
    nans = [
        struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8 << 48, 0xFFF9 << 48)
    ]
    zero, minus_zero, *undefined = texts([0.0, -0.0, *nans], pa.float64())
    assert zero == minus_zero
    assert len({*undefined}) == 1
    assert zero not in undefined


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6))
def test_bytes_have_the_text_that_queries_look_up(values: list[bytes]) -> None:
    found = texts([*values, None], pa.binary())
    assert found.pop() is None
    assert found == [lookup_text(value, pa.binary()) for value in values]
    assert len({*found}) == len({*values})


def test_wide_decimals_have_the_text_of_their_digits() -> None:
    wide, zero = pa.decimal128(38, 10), Decimal("0E-10")
    domain = domain_of(wide)
    assert domain is not None
    for value in (zero, Decimal("-1.5000000000"), Decimal("12E+20")):
        (text,) = texts([value], wide)
        assert extension_text(BoundLiteral(value, value, domain), domain) == (text or "").encode()


def test_floats_of_another_width_have_no_text() -> None:
    """Engines widen them in two ways: by value, and by decimal digits."""
    narrow = pa.array(np.array([0.1], np.float32))
    with pytest.raises(HudiError, match="type float cannot have a secondary index"):
        value_texts(narrow, pa.float64(), "c")


def test_values_with_marks_are_in_the_file_group_where_hudi_looks() -> None:
    texts = pa.array(["a$b", "c\\", "d", None])
    made = EntryKeys(is_composite=False, by_value=True).entries(texts, texts, b"", 7)
    hashed = ("a\\$b$", "c\\\\$", "d$", "\0$")
    assert made.column("shard").to_pylist() == [shard(text, 7) for text in hashed]


_TEXTS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.text("ab\0\x1e\x1f$\\\n", max_size=4),
)
_SEVERAL = st.lists(st.tuples(_TEXTS, st.one_of(st.none(), st.booleans())), min_size=1, max_size=8)


@settings(max_examples=examples(300))
@given(_SEVERAL)
def test_values_of_several_columns_are_what_queries_look_up(
    rows: list[tuple[str | None, bool | None]],
) -> None:
    indexed = IndexedColumns(("a", "b"), (pa.string(), pa.bool_()))
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(indexed.types)]
    found = indexed.texts(columns, "c")
    wanted = [
        tuple(
            None if value is None else str(value).encode()
            for value in (a, b if b is None else str(b).lower())
        )
        for a, b in rows
    ]
    assert [text.encode() for text in found.to_pylist()] == list(map(composite_value, wanted))
    assert len({*found.to_pylist()}) == len({*rows})
    for values, text in zip(wanted, found.to_pylist(), strict=True):
        assert text.encode().startswith(composite_value(values[:1]))

    keys = pa.array([f"key$\\{number}" for number in range(len(rows))])
    made = EntryKeys(is_composite=True, by_value=True).entries(found, keys, b"", 7)
    for row, text, key, entry in zip(rows, found, keys, made.to_pylist(), strict=True):
        assert split_secondary_key(entry["key"].decode()) == (text.as_py(), key.as_py())
        assert entry["shard"] == shard(secondary_shard_key(row[0]), 7)


@dataclass(frozen=True)
class OfValues:
    """The evidence of an index of our own over each column, for a case's files; an `Evidence`."""

    case: Case

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        if not truth:
            return True
        for field in self.case.schema:
            if pa.types.is_nested(field.type):
                continue
            lookup_texts = lookup_values(leaf, field.name, extension_text)
            if lookup_texts is not None:
                return np.array(
                    [self._has(rows, field, lookup_texts[1]) for rows in self.case.files]
                )
        return True

    def _has(self, rows: Sequence[Row], field: pa.Field, lookup_texts: Sequence[bytes]) -> bool:
        found = {
            NULL_VALUE if text is None else text.encode()
            for text in value_texts(stored(rows, field), field.type, field.name).to_pylist()
        }
        return not found.isdisjoint(lookup_texts)


@pytest.mark.slow
@settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases())
def test_no_engine_finds_a_row_in_a_file_without_the_values(case: Case) -> None:
    bound = bind(case.predicate, Scope(case.schema, here(case.table.zone)))
    answer = as_array(may_be(bound, True, [OfValues(case)]), len(case.files))
    for possible, rows in zip(answer, case.files, strict=True):
        for row in () if possible else rows:
            for engine in ENGINES:
                found = truths(case.predicate, row, case.table, engine)
                assert True not in found, (engine.name, row, bound)
