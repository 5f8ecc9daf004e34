"""Spark's SQL in sqlglot."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from pyhudi_expr.expr.frontend.sql.readers.parsing import HEX_STRINGS, OF_OWN_SYNTAX, WholeOperators


class SparkReader(Spark):
    """Spark's dialect, in which casts to char and varchar are casts to string."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, SparkParser):
        """Spark's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX
