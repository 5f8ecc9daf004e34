"""Hive's SQL in sqlglot."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.hive import Hive
from sqlglot.parsers.hive import HiveParser

from pyhudi_expr.expr.frontend.sql.readers.parsing import HEX_STRINGS, OF_OWN_SYNTAX, WholeOperators


class HiveReader(Hive):
    """Hive's dialect."""

    class Tokenizer(Hive.Tokenizer):
        """Hive's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, HiveParser):
        """Hive's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX

        def _parse_types(self, *args: object, **options: object) -> exp.Expr | None:
            # Outside of schemas, sqlglot reads char(n) and varchar(n) as string.
            return super()._parse_types(*args, **{**options, "schema": True})  # type: ignore[arg-type]
