"""The common part of all dialects' parsers: functions keep the names in the text."""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType
from sqlglot.parser import Parser

#: The functions whose arguments are not just a list.
OF_OWN_SYNTAX: dict[str, Any] = {
    name: Parser.FUNCTION_PARSERS[name]
    for name in ("CAST", "EXTRACT", "OVERLAY", "SUBSTRING", "TRIM", "TRY_CAST")
}
HEX_STRINGS: list[Any] = [("X'", "'"), ("x'", "'")]
_SHIFTS = {(TokenType.LT, TokenType.LT), (TokenType.GT, TokenType.GT)}


class WholeOperators(Parser):
    """Reads a shift only where its two signs adjoin: sqlglot reads ``> >`` as ``>>``, too."""

    def _match_pair(
        self, token_type_a: TokenType, token_type_b: TokenType, advance: bool = True
    ) -> bool:
        if (token_type_a, token_type_b) in _SHIFTS and self._curr.end + 1 < self._next.start:
            return False
        return super()._match_pair(token_type_a, token_type_b, advance)
