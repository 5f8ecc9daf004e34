"""Presto's and Trino's SQL, read by sqlglot."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.presto import Presto
from sqlglot.dialects.trino import Trino
from sqlglot.parsers.presto import PrestoParser
from sqlglot.parsers.trino import TrinoParser

from pyhudi_expr.frontend.sql.readers.parsing import HEX_STRINGS, OF_OWN_SYNTAX


class PrestoReader(Presto):
    """Presto's SQL."""

    class Tokenizer(Presto.Tokenizer):
        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(PrestoParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX


class TrinoReader(Trino):
    """Trino's SQL."""

    class Tokenizer(Trino.Tokenizer):
        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(TrinoParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX
