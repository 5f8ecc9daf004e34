"""Constants in a CASE have its type, which decides what beside another decimal becomes NULL."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.frontend.sql.parser import HIVE, SPARK, SqlDialect, parse_predicate
from tests.expr.kept_files import kept

TYPES = {
    "e38": pa.decimal128(38, 37),
    "d20": pa.decimal128(20, 0),
    "d38": pa.decimal128(38, 0),
    "d9": pa.decimal128(9, 2),
}
#: Without a value of the columns that have another one in its place.
ROW = (None, Decimal(2_162_693), Decimal(10) ** 37, None)


def is_null_kept(text: str, dialect: SqlDialect) -> bool:
    return kept(parse_predicate(f"({text}) IS NULL", dialect), TYPES, [ROW]) == [0]


@pytest.mark.parametrize("dialect", [HIVE, SPARK], ids=["hive", "spark"])
@pytest.mark.parametrize(
    "text",
    [
        # Spark, with all digits of a fraction kept: 2162693 is no decimal(38,37), and so NULL.
        "coalesce(e38, 0.5) < d20",
        "d20 = coalesce(e38, 0.5)",
        "coalesce(e38, 0.5) < 2162693",
        "coalesce(e38, 0.5) IN (2162693, 3)",
        "coalesce(d9, 0) < d38",
        "CASE WHEN d20 < 1 THEN 0.1234567890123456789012345678901234567 ELSE 0.5 END < d20",
    ],
)
def test_what_has_no_common_type_may_be_null(text: str, dialect: SqlDialect) -> None:
    assert is_null_kept(text, dialect)


@pytest.mark.parametrize("text", ["coalesce(d9, 0) > 165", "coalesce(d9, 0.5) < d20"])
def test_what_has_one_is_not(text: str) -> None:
    assert not is_null_kept(text, SPARK)
