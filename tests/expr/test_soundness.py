"""No file with a matching row is dropped, for any rows, statistics and predicate.

TEST_EXAMPLES multiplies the number of random tables.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES, Engine, Table
from tests.expr.statistics import Row
from tests.expr.strategies import Case, cases

IsCompared = Callable[[HudiExpression, Row, Table, Engine], bool]


def always(predicate: HudiExpression, row: Row, table: Table, engine: Engine) -> bool:
    """Compares all rows."""
    return True


@settings(
    max_examples=examples(1000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases())
def test_no_engine_finds_a_row_in_an_excluded_file(case: Case) -> None:
    assert_sound(case)


def assert_sound(case: Case, is_compared: IsCompared = always) -> None:
    """No row of an excluded file has the excluded truth value under any engine.

    is_compared: whether to compare an engine's evaluation of a row.
    """
    bound = bind(case.predicate, Scope(case.schema, here(case.table.zone)))
    for truth in (True, False):
        answer = may_be(bound, truth, [StatisticsEvidence(case.statistics)])
        for possible, rows in zip(as_array(answer, len(case.files)), case.files, strict=True):
            if possible:
                continue
            for row in rows:
                for engine in ENGINES:
                    if is_compared(case.predicate, row, case.table, engine):
                        found = truths(case.predicate, row, case.table, engine)
                        assert truth not in found, (engine.name, row, truth, bound)
