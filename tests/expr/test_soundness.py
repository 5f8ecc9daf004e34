"""Whatever the rows, statistics and predicate: a file that holds a matching row is kept.

PYHUDI_EXAMPLES sets how many random tables are tried.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings

from pyhudi_expr.expr.bind import Scope, bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from tests.expr.oracle import ENGINES, truths
from tests.expr.strategies import Case, cases

_EXAMPLES = int(os.environ.get("PYHUDI_EXAMPLES", "1000"))


@settings(
    max_examples=_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases())
def test_no_engine_finds_a_row_in_an_excluded_file(case: Case) -> None:
    assert_sound(case)


def assert_sound(case: Case) -> None:
    """No row of an excluded file gives the excluded truth value under any engine."""
    bound = bind(case.predicate, Scope(case.schema, case.table.zone))
    for truth in (True, False):
        answer = may_be(bound, truth, [StatisticsEvidence(case.statistics)])
        for possible, rows in zip(as_array(answer, len(case.files)), case.files, strict=True):
            if possible:
                continue
            for row in rows:
                for engine in ENGINES:
                    given_truths = truths(case.predicate, row, case.table, engine)
                    assert truth not in given_truths, (engine.name, row, truth, bound)
