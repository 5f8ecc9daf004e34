"""AND, OR, NOT and constants in three-valued logic, and unsupported parts."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import KnownContainers, bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import (
    ALWAYS,
    NEVER,
    And,
    Between,
    Call,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Truth,
    Unknown,
)
from pyhudi_expr.expr.terms import Scope
from tests.expr.kept_files import X, Y, among, eq, kept, less, lit
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES, Table
from tests.expr.statistics import RowStatistics

LONG = pa.int64()
FIVE = lit(5, LONG)
IS_FIVE, BELOW, UNTOLD = eq(X, FIVE), less(X, FIVE), Unknown("untold")
FILES = [[1, 2], [5, 5], [7, 8], [5, None], [None]]
EVERY = [0, 1, 2, 3, 4]
FLAGS = [Truth(flags) for flags in range(1, 8)]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (And((IS_FIVE, BELOW)), []),
        (Or((IS_FIVE, BELOW)), [0, 1, 3]),
        (Not(And((IS_FIVE, BELOW))), [0, 1, 2, 3]),
        (Not(Or((IS_FIVE, BELOW))), [2]),
        (Not(Not(IS_FIVE)), [1, 3]),
        (And((Or((IS_FIVE, BELOW)), Not(BELOW))), [1, 3]),
        (And((IS_FIVE, UNTOLD)), [1, 3]),
        (Or((IS_FIVE, UNTOLD)), EVERY),
        (Not(UNTOLD), EVERY),
        (Not(And((IS_FIVE, UNTOLD))), EVERY),
        (Not(Or((IS_FIVE, UNTOLD))), [0, 2]),
        (And(()), EVERY),
        (Or(()), []),
        (And((ALWAYS, IS_FIVE)), [1, 3]),
        (Or((NEVER, IS_FIVE)), [1, 3]),
        (And((NEVER, UNTOLD)), []),
        (Or((ALWAYS, UNTOLD)), EVERY),
        (Not(Or((ALWAYS, UNTOLD))), []),
        (And((IS_FIVE, Constant(Truth.YES_NULL))), [1, 3]),
        (And((IS_FIVE, Constant(Truth.NO_NULL))), []),
        (Or((IS_FIVE, Constant(Truth.NULL))), [1, 3]),
        (Or((IS_FIVE, Constant(Truth.NO_NULL))), [1, 3]),
        (Not(Constant(Truth.NULL)), []),
        (And((IsNull(X), IS_FIVE)), []),
    ],
)
def test_connectives_follow_three_valued_logic(
    predicate: HudiExpression, expected: list[int]
) -> None:
    assert kept(predicate, LONG, *FILES) == expected


@pytest.mark.parametrize("flags", FLAGS)
def test_a_constant_keeps_all_or_nothing(flags: Truth) -> None:
    assert kept(Constant(flags), LONG, *FILES) == (EVERY if Truth.YES in flags else [])
    assert kept(Not(Constant(flags)), LONG, *FILES) == (EVERY if Truth.NO in flags else [])


@pytest.mark.parametrize(("left", "right"), list(product(FLAGS, FLAGS)))
def test_connectives_of_constants_are_sound_for_every_value(left: Truth, right: Truth) -> None:
    for node in (And((Constant(left), Constant(right))), Or((Constant(left), Constant(right)))):
        for predicate in (node, Not(node)):
            expected = truths(predicate, {}, Table({}), ENGINES[0])
            bound = bind(predicate, Scope(pa.schema([])))
            assert bool(may_be(bound, True, [])) == (True in expected)
            assert bool(may_be(bound, False, [])) == (False in expected)


@pytest.mark.parametrize(
    "piece",
    [
        eq(Column(("missing",)), FIVE),
        eq(Column(("x", "inner")), FIVE),
        eq(X, lit([1], pa.list_(LONG))),
        Comparison(Op.LT, X, Call("rand", ())),
        Comparison(Op.LT, Call("upper", (X,)), FIVE),
        Comparison(Op.LT, Call("pow", (X, Y)), FIVE),
        Between(X, FIVE, lit("a", pa.string())),
        StartsWith(X, "a"),
    ],
)
def test_an_unsupported_part_excludes_nothing_and_does_not_affect_the_rest(
    piece: HudiExpression,
) -> None:
    types = {"x": LONG, "y": LONG}
    files = [[(1, 1)], [(5, 5)]]
    assert kept(piece, types, *files) == [0, 1]
    assert kept(Not(piece), types, *files) == [0, 1]
    assert kept(And((piece, IS_FIVE)), types, *files) == [1]
    assert kept(Or((piece, IS_FIVE)), types, *files) == [0, 1]


def test_names_ignore_case_and_must_be_unique() -> None:
    literal = lit(9, LONG)
    assert kept(eq(Column(("X",)), literal), LONG, [1]) == []
    assert kept(eq(X, literal), {"x": LONG, "X": LONG}, [(1, 1)]) == [0]


def test_columns_without_an_order_are_unknown() -> None:
    for type_ in (pa.list_(LONG), pa.struct([("a", LONG)]), pa.map_(pa.string(), LONG)):
        schema = pa.schema([("x", type_)])
        assert isinstance(bind(IsNull(X), Scope(schema)), Unknown)


def test_in_with_a_column_among_its_options_is_unknown() -> None:
    types = {"x": LONG, "y": LONG}
    predicate = among(X, FIVE, Y)
    assert kept(predicate, types, [(1, 1)]) == [0]


def test_literals_are_null_or_not() -> None:
    assert kept(IsNull(Literal(None, LONG)), LONG, *FILES) == EVERY
    assert kept(IsNull(FIVE), LONG, *FILES) == []


def test_exclusions_of_several_sources_are_combined() -> None:
    files = [[{"x": 1}, {"x": 9}], [{"x": 9}]]
    exact = StatisticsEvidence(RowStatistics(files))
    ignorant = StatisticsEvidence(RowStatistics(files, absent=frozenset({"x"})))
    bound = bind(IS_FIVE, Scope(pa.schema([("x", LONG)])))
    for sources in ([exact, ignorant], [ignorant, exact]):
        assert as_array(may_be(bound, True, sources), 2).tolist() == [True, False]
    assert as_array(may_be(bound, True, [ignorant]), 2).tolist() == [True, True]
    assert as_array(may_be(bound, True, []), 2).tolist() == [True, True]


def test_an_expression_evaluates_containers() -> None:
    """RFC-27's `evaluate`: parents combine the flags of their leaves."""
    files = [[{"x": 1}], [{"x": 5}], [{"x": None}], []]
    known = KnownContainers(pa.schema({"x": pa.int64()}), RowStatistics(files))
    low, high = (Comparison(op, Column(("x",)), Literal(3, pa.int64())) for op in (Op.LT, Op.GT))
    assert as_array(low.evaluate(known), 4).tolist() == [True, False, False, False]
    for parent in (Or((low, high)), Not(And((low, high)))):
        assert isinstance(parent, HudiExpression)
        assert as_array(parent.evaluate(known), 4).tolist() == [True, True, False, False]
    assert as_array(Unknown("no rule").evaluate(known), 4).all()
