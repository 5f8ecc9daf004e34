"""Presto's and Trino's SQL in sqlglot."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.presto import Presto
from sqlglot.dialects.trino import Trino
from sqlglot.parsers.presto import PrestoParser
from sqlglot.parsers.trino import TrinoParser

from pyhudi_expr.expr.frontend.sql.readers.parsing import HEX_STRINGS, OF_OWN_SYNTAX, WholeOperators


class PrestoReader(Presto):
    """Presto's dialect."""

    class Tokenizer(Presto.Tokenizer):
        """Presto's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, PrestoParser):
        """Presto's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX


class TrinoReader(Trino):
    """Trino's dialect."""

    class Tokenizer(Trino.Tokenizer):
        """Trino's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, TrinoParser):
        """Trino's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX
