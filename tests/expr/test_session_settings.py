"""Settings of a session that change an evaluation: what they may change is unknown."""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.expr.frontend.sql.parser import HIVE, parse_predicate
from pyhudi_expr.expr.semantics import Engine, Semantics
from tests.expr.kept_files import kept

FILES = [[1], [5], [9]]


def kept_where(text: str, **settings: str) -> list[int]:
    semantics = Semantics(Engine.HIVE, settings={f"hive.{k}": v for k, v in settings.items()})
    return kept(parse_predicate(text, HIVE), pa.int32(), *FILES, semantics=semantics)


def test_expressions_are_unknown_and_columns_are_not() -> None:
    assert kept_where("abs(x) = 5") == kept_where("x = 5") == [1]
    assert kept_where("abs(x) = 5", compat="1.0") == [0, 1, 2]
    assert kept_where("CAST(x AS bigint) = 5", compat="1.0") == [0, 1, 2]
    assert kept_where("x = 5", compat="1.0") == [1]
    assert kept_where("abs(x) = 5 AND x > 4", compat="1.0") == [1, 2]


def test_columns_are_unknown_where_readers_may_show_others() -> None:
    assert kept_where("x = 5", **{"parquet.infer.binary.as": "string"}) == [0, 1, 2]
