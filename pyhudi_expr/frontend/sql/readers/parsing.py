"""The common part of all dialects' parsers: functions keep the names in the text."""

from __future__ import annotations

from typing import Any

from sqlglot.parser import Parser

#: The functions whose arguments are not just a list.
OF_OWN_SYNTAX: dict[str, Any] = {
    name: Parser.FUNCTION_PARSERS[name]
    for name in ("CAST", "EXTRACT", "OVERLAY", "SUBSTRING", "TRIM", "TRY_CAST")
}
HEX_STRINGS: list[Any] = [("X'", "'"), ("x'", "'")]
