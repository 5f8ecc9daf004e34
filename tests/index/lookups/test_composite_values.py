"""What predicates say of indexes over several columns: only what is true of one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundAnd, BoundComparison, BoundExpression, BoundOr, Leaf
from pyhudi_expr.expr.evaluate import may_be
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.lookups.composite_index import (
    MOST_COMBINATIONS,
    CompositeIndex,
    CompositeLookup,
    composite_lookups,
)
from pyhudi_expr.index.lookups.value_places import extension_text, lookup_values
from pyhudi_expr.index.partition_semantics import FROM_FILES
from pyhudi_expr.index.planner import Question
from pyhudi_expr.tables.mdt.bytes.keys import composite_value
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.properties import SliceMerging
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES, Table

_SCHEMA = pa.schema([("a", pa.string()), ("b", pa.int64()), ("c", pa.bool_())])
_TABLE = Table({field.name: field.type for field in _SCHEMA})
_FIELDS = ("a", "b", "c")


def bound(sql: str) -> BoundExpression:
    return bind(parse_predicate(sql), Scope(_SCHEMA))


def values_of(leaf: Leaf, field: str) -> list[bytes] | None:
    found = lookup_values(leaf, field, extension_text)
    return None if found is None else found[1]


def lookups(predicate: BoundExpression) -> list[CompositeLookup]:
    return composite_lookups(predicate, _FIELDS, values_of)


def beginnings(sql: str) -> list[set[bytes]]:
    """What is looked up for each conjunction, with semicolons at the ends of values."""
    return [
        {one.replace(b"\x1f", b";") for one in found.beginnings} for found in lookups(bound(sql))
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a = 'x'", [{b"x;"}]),
        ("a = 'x' AND b = 5", [{b"x;5;"}]),
        ("b = 5 AND a = 'x' AND c = true", [{b"x;5;true;"}]),
        ("a IN ('x', 'y') AND b IN (1, 2)", [{b"x;1;", b"x;2;", b"y;1;", b"y;2;"}]),
        ("a = 'x' AND b > 5", [{b"x;"}]),
        ("a = 'x' AND c = true", [{b"x;"}]),
        ("a IS NULL AND b <=> 5", [{b"\0;5;"}]),
        ("a = 'x' AND b IS NULL", [{b"x;\0;"}]),
        ("a = 'x' AND a IN ('x', 'y') AND b = 1", [{b"x;1;"}]),
        ("(a = 'x' AND b = 1) OR (a = 'y' AND b = 2)", [{b"x;1;"}, {b"y;2;"}]),
        ("a = 'x' AND (b = 1 OR c = true)", [{b"x;"}]),
        ("c = true AND (a = 'x' OR (a = 'y' AND b = 2))", [{b"x;"}, {b"y;2;"}]),
        ("a = 'x\x1fy' AND b = 1", [{b"x\x1e;y;1;"}]),
        ("b = 5", []),
        ("b = 5 AND c = true", []),
        ("NOT (a = 'x' AND b = 1)", []),
        ("NOT (a <> 'x')", [{b"x;"}]),
        ("a = b", []),
        ("a <> 'x' AND b = 1", []),
        ("a = NULL AND b = 1", []),
        ("a LIKE 'x%' AND b = 1", []),
    ],
)
def test_equalities_on_the_first_columns_name_adjacent_entries(
    sql: str, expected: list[set[bytes]]
) -> None:
    assert beginnings(sql) == expected


def test_too_many_combinations_are_looked_up_by_fewer_columns() -> None:
    letters = ", ".join(f"'{number}'" for number in range(40))
    numbers = ", ".join(str(number) for number in range(MOST_COMBINATIONS // 40 + 1))
    (found,) = beginnings(f"a IN ({letters}) AND b IN ({numbers})")
    assert found == {f"{number};".encode() for number in range(40)}


def test_a_leaf_that_occurs_twice_carries_no_evidence() -> None:
    """Else what is known of it beside b = 1 would be trusted of it beside b = 2."""
    first, one, two = map(bound, ("a = 'x'", "b = 1", "b = 2"))
    shared = BoundOr((BoundAnd((first, one)), BoundAnd((first, two))))
    found = lookups(shared)
    assert [lookup.beginnings for lookup in found] == [(b"x\x1f1\x1f",), (b"x\x1f2\x1f",)]
    assert [lookup.leaf for lookup in found] == [one, two]
    assert isinstance(first, BoundComparison)
    assert lookups(BoundOr((first, BoundAnd((first, bound("b > 1")))))) == []


def test_columns_whose_values_may_come_from_paths_are_not_looked_up() -> None:
    """The index has the values that files hold."""
    definition = IndexDefinition("secondary_index_i", "secondary_index", "", _FIELDS, {}, "V2")
    index = CompositeIndex(definition, None, None, None, None)
    disputed = {"b": np.ones(1, np.bool_)}
    asked = Question(
        predicate=bound("a = 'x' AND b = 1 AND c = true"),
        columns=(),
        listing=None,
        merging=SliceMerging.WHOLE_RECORDS,
        partitions=np.ones(1, np.bool_),
        footer_wait=0,
        footers=np.zeros(1, np.bool_),
    )
    (whole,) = index.wanted(asked)
    assert whole.values == (b"x\x1f1\x1ftrue\x1f",)
    (start,) = index.wanted(replace(asked, reading=replace(FROM_FILES, disputed=disputed)))
    assert start.values == (b"x\x1f",)


_ROW = st.fixed_dictionaries(
    {
        "a": st.sampled_from([None, "", "x", "\x1e", "\x1f", "\0", "x\x1f1", "\x1e\x1f"]),
        "b": st.sampled_from([None, 0, 1, -1]),
        "c": st.sampled_from([None, True, False]),
    }
)


def _stored(row: dict[str, Any]) -> bytes:
    """The row's value in the index."""
    texts = {
        "a": row["a"],
        "b": None if row["b"] is None else str(row["b"]),
        "c": None if row["c"] is None else str(row["c"]).lower(),
    }
    found = (texts[field] for field in _FIELDS)
    return composite_value([None if text is None else text.encode() for text in found])


_LEAVES = st.one_of(
    st.sampled_from(["a", "b", "c"]).map(lambda column: f"{column} IS NULL"),
    st.sampled_from(["x", "\x1e", "\x1f", "\0", "x\x1f1", ""]).map(lambda text: f"a = '{text}'"),
    st.sampled_from(["b = 1", "b = 0", "b IN (0, 1)", "b > 0", "c = true", "a IN ('x', '')"]),
)
_PREDICATES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' AND '.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' OR '.join(parts)})"),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(400))
@given(_PREDICATES, st.lists(_ROW, min_size=1, max_size=5))
def test_no_row_is_lost(sql: str, rows: list[dict[str, Any]]) -> None:
    """The file of the rows is dropped only if no row of it makes the predicate TRUE."""
    predicate = bound(sql)
    found = lookups(predicate)
    stored = [_stored(row) for row in rows]

    class Known:
        def may_be(self, leaf: Leaf, truth: bool) -> bool:
            own = [lookup for lookup in found if lookup.leaf is leaf] if truth else []
            return all(
                any(
                    text.startswith(beginning) for text in stored for beginning in lookup.beginnings
                )
                for lookup in own
            )

    if not may_be(predicate, True, [Known()]):
        expression = parse_predicate(sql)
        for row in rows:
            for engine in ENGINES:
                assert True not in truths(expression, row, _TABLE, engine), row
