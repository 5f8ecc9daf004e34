"""What all dialects' parsers have in common: functions keep the names they are written with."""

from __future__ import annotations

from typing import Any

from sqlglot.parser import Parser

#: The functions whose arguments are no mere list.
OF_OWN_SYNTAX: dict[str, Any] = {
    name: Parser.FUNCTION_PARSERS[name]
    for name in ("CAST", "EXTRACT", "OVERLAY", "SUBSTRING", "TRIM", "TRY_CAST")
}
HEX_STRINGS: list[Any] = [("X'", "'"), ("x'", "'")]
