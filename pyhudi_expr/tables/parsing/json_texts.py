"""JSON of tables' files, decoded within limits.

Python's decoder is written in C and holds the interpreter's lock until it ends. So a long text is
decoded in pieces: other threads run between them, and each draws on the question's budget.
"""

from __future__ import annotations

import contextlib
import json
from json import decoder
from typing import Any, TypeAlias

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing.budget import current

#: What JSON becomes in Python.
Json: TypeAlias = Any

#: Characters that are decoded at once, at first and at most. It takes less than a millisecond.
_PIECES = 1 << 9, 1 << 16
#: Memory of a value, at most, beside that of its characters: that of a dictionary with one item is
#: 230 bytes. Each value follows one of the marks, and the item of a dictionary two.
_VALUE_BYTES, _MARKS = 115, ",[{"

_AT_ONCE = json.JSONDecoder()
# Both call a function for each value that they hold; the decoder itself does so without its C part.
_object: Any = decoder.JSONObject  # type: ignore[attr-defined]
_array: Any = decoder.JSONArray  # type: ignore[attr-defined]


def parse_json(text: str | bytes, file: str) -> Json:
    """Decode a JSON text, as UTF-8 if it is bytes.

    Raises:
        CorruptFile: It is none, is nested too deeply, or takes more than a question may spend
            (OverBudgetError); the message names `file`.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode()
        return _InPieces(file).decode(decoded)
    except ValueError as error:
        raise CorruptFile(file, f"no JSON: {error}") from error
    except RecursionError as error:
        raise CorruptFile(file, "no JSON that is read: it is nested too deeply") from error


class _InPieces(json.JSONDecoder):
    """Decodes one text: what is short at once, what is long by its parts."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._spent = 0
        self.scan_once = self._value  # The name is that of the base, which calls it.

    def _value(self, text: str, start: int) -> tuple[Json, int]:
        value, end = self._decoded(text, start)
        values = sum(text.count(mark, self._spent, end) for mark in _MARKS)
        current().decoded(self._file, end - self._spent + _VALUE_BYTES * values)
        self._spent = end
        return value, end

    def _decoded(self, text: str, start: int) -> tuple[Json, int]:
        opening = text[start : start + 1]
        if opening not in {"{", "["}:
            return _AT_ONCE.raw_decode(text, start)
        for piece in _PIECES:
            with contextlib.suppress(ValueError):  # It is longer, or none.
                value, length = _AT_ONCE.raw_decode(text[start : start + piece])
                return value, start + length
        if opening == "{":
            return _object((text, start + 1), self.strict, self._value, None, None)
        return _array((text, start + 1), self._value)
