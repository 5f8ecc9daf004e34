"""Hudi's planners in Spark (TestDataSkippingUtils) and Flink (TestExpressionEvaluators)."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer
from tests.expr.statistics import NOTHING, RecordedStatistics

BIGINT, STRING = {"A": pa.int64()}, {"B": pa.string()}
MIXED = Files(BIGINT, [[1, 2], [-1, 1], [-2, -1]])
SINGLE = Files(BIGINT, [[1, 2], [-1, 1], [-2, -1], [0], [1]])
NULLS = Files(BIGINT, [[1, 2], [-1, 1, None], [None]])

# Of B nothing is recorded in the first three files; the last two have one value of each column.
TWO = Files(
    {**BIGINT, **STRING},
    [[(1, ""), (2, "")], [(-1, ""), (1, "")], [(-2, ""), (-1, "")], [(0, "abc")], [(0, "abc")]],
    {("B", i): NOTHING for i in range(3)},
)
RANGES = Files(BIGINT | STRING, [[(0, ""), (1, "")], [(1, ""), (2, "")], [(2, ""), (3, "")]])
WITHOUT_B = Files(RANGES.types, RANGES.rows, {("B", i): NOTHING for i in range(3)})
SOME_B = Files(
    {**BIGINT, **STRING},
    [[(0, None), (1, None)], [(1, "a"), (2, "b")], [(2, "a"), (3, "b"), (3, None)]],
    {("B", 0): NOTHING},
)
NOT_INDEXED = Files(
    {**BIGINT, **STRING, "D": pa.string()},
    [[(1, "x", ""), (2, "y", "")], [(-1, "x", ""), (1, "y", "")], [(0, "aaa", ""), (0, "xyz", "")]],
    absent=frozenset({"D"}),
)

PREFIXES = Files(
    STRING, [["aba", "adf", None], ["adf", "azy"], ["aaa", "aba"], ["abc123", "abc345"]]
)
CAPITALS = Files(
    STRING, [["ABA", "ADF", None], ["ADF", "AZY"], ["AAA", "ABA"], ["ABC123", "ABC345"]]
)
LISTS = Files(STRING, [["a0", "a10"], ["b0", "b10"], ["a10", "b20"]])


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


SEVENTH, EIGHTH, NINTH = _at(1646625048), _at(1646711448), _at(1646797848)  # of March 2022
TIME = {"C": pa.timestamp("us", "UTC")}
DAYS = Files(TIME, [[EIGHTH, NINTH], [SEVENTH, EIGHTH]])
SINGLE_DAYS = Files(TIME, [[EIGHTH, NINTH], [SEVENTH, SEVENTH]])
TEXT_DAYS = Files(STRING, [["2022-03-07", "2022-03-08"], ["2022-03-06", "2022-03-06"]])

INT = {"f": pa.int32()}
FLINK = Files(INT, [[11, 13, None], [12, 13], [11, 12], [10, 11], [13, 14], [None], [12]])

VERDICTS = [
    (MIXED, "-+-", ["A = 0", "0 = A", "A = int('0')"]),
    (SINGLE, "+++-+", ["A != 0", "0 != A"]),
    (MIXED, "-++", ["A < 0", "0 > A", "A <= -1", "-1 >= A"]),
    (MIXED, "++-", ["A > 0", "0 < A", "A >= 1", "1 <= A", "A IN (0, 1)"]),
    (NULLS, "-++", ["A IS NULL"]),
    (NULLS, "++-", ["A IS NOT NULL"]),
    (SINGLE, "+++--", ["A NOT IN (0, 1)", "A != 0 AND A != 1", "NOT (A = 0 OR A = 1)"]),
    (TWO, "+++--", ["A != 0 OR B != 'abc'", "NOT (A = 0 AND B = 'abc')"]),
    (NOT_INDEXED, "--+", ["A = 0 AND B = 'abc' AND D IS NULL"]),
    (NOT_INDEXED, "+++", ["A = 0 OR B = 'abc' OR D IS NULL"]),
    (NOT_INDEXED, "+++", ["A = D"]),
    (WITHOUT_B, "++-", ["A = 1 AND B IS NOT NULL"]),
    (WITHOUT_B, "+++", ["B = 1 AND B IS NOT NULL"]),
    (WITHOUT_B, "++-", ["A = 1 AND A IS NOT NULL AND B IS NOT NULL AND B > 2"]),
    (SOME_B, "+-+", ["B IS NULL", "B <=> NULL"]),
    (SOME_B, "+--", ["A = 1 AND B IS NULL"]),
    (PREFIXES, "+--+", ["B LIKE 'abc%'"]),
    (PREFIXES, "+++-", ["NOT (B LIKE 'abc%')"]),
    (CAPITALS, "+++-", ["NOT (lower(B) LIKE 'abc%')"]),
    (LISTS, "+-+", [f"B IN ({', '.join(repr(f'a{i}') for i in range(11))})"]),
    (DAYS, "-+", ["date_format(C, 'MM/dd/yyyy') = '03/07/2022'"]),
    (DAYS, "-+", ["'03/07/2022' = date_format(C, 'MM/dd/yyyy')"]),
    (SINGLE_DAYS, "+-", ["'03/07/2022' != date_format(C, 'MM/dd/yyyy')"]),
    (SINGLE_DAYS, "+-", ["date_format(C, 'MM/dd/yyyy') != '03/07/2022'"]),
    (SINGLE_DAYS, "+-", ["date_format(C, 'MM/dd/yyyy') NOT IN ('03/07/2022')"]),
    (DAYS, "-+", ["date_format(C, 'MM/dd/yyyy') < '03/08/2022'"]),
    (DAYS, "-+", ["'03/08/2022' > date_format(C, 'MM/dd/yyyy')"]),
    (DAYS, "+-", ["'03/08/2022' < date_format(C, 'MM/dd/yyyy')"]),
    (DAYS, "+-", ["date_format(C, 'MM/dd/yyyy') > '03/08/2022'"]),
    (DAYS, "-+", ["date_format(C, 'MM/dd/yyyy') <= '03/07/2022'"]),
    (DAYS, "-+", ["'03/07/2022' >= date_format(C, 'MM/dd/yyyy')"]),
    (DAYS, "+-", ["'03/09/2022' <= date_format(C, 'MM/dd/yyyy')"]),
    (DAYS, "+-", ["date_format(C, 'MM/dd/yyyy') >= '03/09/2022'"]),
    (DAYS, "+-", ["date_format(C, 'MM/dd/yyyy') IN ('03/09/2022')"]),
    (
        TEXT_DAYS,
        "+-",
        ["date_format(to_timestamp(B, 'yyyy-MM-dd'), 'MM/dd/yyyy') NOT IN ('03/06/2022')"],
    ),
    # The second file holds 4294967297, which is 1 as an int.
    (Files(BIGINT, [[1, 100], [1, 4294967297]]), "~+", ["CAST(A AS INT) > 100"]),
    (Files(BIGINT, [[1, 100], [101, 200]]), "-+", ["CAST(A AS DOUBLE) > 100.0D"]),
    (Files(BIGINT, [[-10, 0]]), "+", ["A * -1 < 5"]),
    (Files(BIGINT, [[1, 2], [3, 4]]), "+-", ["A * 2L < 5"]),
    # Flink
    (FLINK, "+++---+", ["f = 12"]),
    (FLINK, "+++++--", ["f <> 12"]),
    (FLINK, "+-++---", ["f < 12"]),
    (FLINK, "++--+--", ["f > 12"]),
    (FLINK, "++++--+", ["f <= 12"]),
    (FLINK, "+++-+-+", ["f >= 12"]),
    (FLINK, "++++--+", ["f IN (11, 12)"]),
    (FLINK, "-------", [f"f {op} NULL" for op in ("=", "<>", "<", ">", "<=", ">=")]),
    (FLINK, "+----+-", ["f IS NULL"]),
    (FLINK, "+++++-+", ["f IS NOT NULL"]),
    (
        Files(INT, [[11, 12]], {("f", 0): RecordedStatistics(minimum=False, maximum=False)}),
        "+",
        ["f IS NOT NULL", "f = 12"],
    ),
]

WEAKER = {
    **dict.fromkeys(
        (text for files, _, texts in VERDICTS if files is DAYS for text in texts),
        "Hudi formats both ends; texts of MM/dd/yyyy are in another order over the turn of a year",
    ),
    "date_format(to_timestamp(B, 'yyyy-MM-dd'), 'MM/dd/yyyy') NOT IN ('03/06/2022')": "texts are"
    " not read as times by a pattern",
}

HUDI = Peer("Hudi", "spark", VERDICTS, WEAKER)
