"""Spark's SQL, read by sqlglot."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from pyhudi_expr.frontend.sql.readers.parsing import HEX_STRINGS, OF_OWN_SYNTAX


class SparkReader(Spark):
    """Spark's SQL, in which casts to char and varchar are casts to string."""

    class Tokenizer(Spark.Tokenizer):
        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX
