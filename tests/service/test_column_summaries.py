"""Bounds of columns in the protocol, in each unit of time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary
from pyhudi_expr.service.answers.encoding import to_thrift


@pytest.mark.parametrize(
    ("type_", "least", "greatest"),
    [
        (pa.timestamp("ms", "UTC"), (-1, (-1, 999_000_000)), (1_500, (1, 500_000_000))),
        (pa.timestamp("us", "UTC"), (-1, (-1, 999_999_000)), (1_500_001, (1, 500_001_000))),
        (pa.timestamp("us"), (-1, (-1, 999_999_000)), (1_500_001, (1, 500_001_000))),
    ],
    ids=str,
)
def test_times_are_sent_as_seconds_and_nanoseconds(
    type_: pa.DataType, least: tuple[int, tuple[int, int]], greatest: tuple[int, tuple[int, int]]
) -> None:
    domain = domain_of(type_)
    assert domain is not None
    column = BoundColumn("ts", type_, domain)
    sent = to_thrift(ColumnSummary(column, nulls=0, least=least[0], greatest=greatest[0]))
    ends = [(end.epochSeconds, end.nanos) for end in (sent.least, sent.greatest)]
    assert ends == [least[1], greatest[1]]
