"""DataFusion's pruning predicates (pruning_predicate.rs): those on minima, maxima and counts."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer
from tests.expr.statistics import EXACT, NOTHING, RecordedStatistics

BOUNDS = RecordedStatistics(nulls=False)
COUNTS = RecordedStatistics(minimum=False, maximum=False)
ONLY_MINIMUM = RecordedStatistics(maximum=False, nulls=False)
ONLY_MAXIMUM = RecordedStatistics(minimum=False, nulls=False)


def _given(*found: RecordedStatistics) -> dict[tuple[str, int], RecordedStatistics]:
    return {("x", i): each for i, each in enumerate(found)}


BOOLEANS = Files(
    {"x": pa.bool_()},
    [[False], [False, True], [True], [None], [False, True]],
    _given(BOUNDS, BOUNDS, BOUNDS, NOTHING, ONLY_MINIMUM),
)
INT, INT_ROWS = {"x": pa.int32()}, [[-5, 5], [1, 11], [-11, -1], [0], [1, 2]]
INTEGERS = Files(INT, INT_ROWS, _given(BOUNDS, BOUNDS, BOUNDS, NOTHING, ONLY_MINIMUM))
COUNTED = Files(
    INT,
    [[-5, 5], [1, 11, None], [-11, -1], [None], [1, 2]],
    {("x", 2): BOUNDS, ("x", 4): RecordedStatistics(maximum=False)},
)
ALL_NULL = Files(INT, [[None], [None]], _given(EXACT, COUNTS))
NO_COUNTS = Files(INT, [[0]], _given(BOUNDS))
ONE_END = Files(
    INT, [[0], [0]], _given(RecordedStatistics(minimum=False), RecordedStatistics(maximum=False))
)
CASTS = Files(INT, [[0, 5], [4, 6], [0], [3, 4]], _given(BOUNDS, BOUNDS, NOTHING, ONLY_MINIMUM))

LAST = "\U0010ffff"
TEXT = {"x": pa.string()}
TEXTS = Files(
    TEXT,
    [
        *(["A", "Z"], ["A", "L"], ["N", "Z"], ["M"], [""], ["A", "B"], ["", "A"], [""]),
        *(["AB", f"A{LAST}{LAST}{LAST}"], [f"A{LAST}{LAST}"]),
    ],
    _given(*[BOUNDS] * 4, NOTHING, ONLY_MINIMUM, *[BOUNDS] * 4),
)
PERCENTS = Files(TEXT, [["A%a", "A%c"], ["A"]])


def _decimals(precision: int) -> Files:
    rows = [["0.00", "5.00"], ["4.00", "6.00"], ["1.00", "4.00"], ["3.00", "9.00"]]
    return Files(
        {"x": pa.decimal128(precision, 2)},
        [list(map(Decimal, file)) for file in rows],
        _given(BOUNDS, BOUNDS, ONLY_MAXIMUM, ONLY_MINIMUM),
    )


VERDICTS = [
    (BOOLEANS, "+++++", ["true"]),
    (BOOLEANS, "-----", ["false"]),
    (BOOLEANS, "-++++", ["x", "x = true"]),
    (BOOLEANS, "++-++", ["NOT x", "(NOT x) = true"]),
    (INTEGERS, "++-++", ["x > 0", "-x < 0", "x > -1", "-x < 1", "0 < x"]),
    (INTEGERS, "++-++", ["CAST(x AS bigint) > 0", "-CAST(x AS bigint) < 0"]),
    (INTEGERS, "+-++-", ["x <= 0", "-x >= 0", "x < 0"]),
    (INTEGERS, "+--+-", ["x = 0", "CAST(x AS bigint) = 0", "x IN (0)"]),
    (INTEGERS, "+++++", ["x IS NULL", "x <> 0"]),
    # Texts of numbers are in another order: '-5', '0', '11'.
    (INTEGERS, "+++++", ["CAST(x AS string) <= '0'", "CAST(-x AS string) >= '0'"]),
    (INTEGERS, "+~~+~", ["CAST(x AS string) = '0'"]),
    (INTEGERS, "++-++", ["CAST(x AS bigint) IN (1, 2, 3)"]),
    (COUNTED, "-+++-", ["x IS NULL"]),
    (COUNTED, "+-+--", ["x < 0"]),
    (ALL_NULL, "--", ["x = 0"]),
    (NO_COUNTS, "+", ["x = 0"]),
    (NO_COUNTS, "-", ["x > 0"]),
    (ONE_END, "++", ["x = 0"]),
    (ONE_END, "-+", ["x > 0"]),
    (ONE_END, "+-", ["x < 0"]),
    (CASTS, "-+++", ["x > 5", "CAST(x AS bigint) > 5"]),
    *((_decimals(precision), "-+-+", ["x > 5", "x > 5.00"]) for precision in (9, 18, 23)),
    (_decimals(9), "-+-+", ["CAST(x AS decimal(14, 3)) > 5.000"]),
    (TEXTS, "++--+++---", ["x = 'A'"]),
    (TEXTS, "----+-++--", ["x = ''"]),
    (TEXTS, "++++++++++", ["x <> 'A'"]),
    (TEXTS, "+++++++-++", ["x <> ''"]),
    (TEXTS, "+++-++++++", ["x <> 'M'"]),
    (TEXTS, "++--+++-++", ["x LIKE 'A%'"]),
    (TEXTS, "++++++++++", ["x LIKE '%'"]),
    (TEXTS, "----+-++--", ["x LIKE ''"]),
    (PERCENTS, "-+", [r"x NOT LIKE 'A\\%%'"]),
    (TEXTS, "+++++++++-", [f"x NOT LIKE 'A{LAST}%'"]),
    # Patterns are held against both ends here, and evaluated on a single value.
    (TEXTS, "++--++~-++", ["x LIKE 'A_'"]),
    (TEXTS, "+++~+++~~~", ["x LIKE '_A_'"]),
    (TEXTS, "+++++++~~~", ["x LIKE '_'"]),
    (TEXTS, "+++~+++~++", ["x LIKE '%A%'"]),
]

WEAKER = dict.fromkeys(
    ("-x >= 0", "CAST(x AS decimal(14, 3)) > 5.000"),
    "where one end of a number is unknown, its function may overflow; writers record both or none",
)

DATAFUSION = Peer("DataFusion", "spark", VERDICTS, WEAKER)
