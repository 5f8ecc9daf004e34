"""Whether two engines mean the same rows, whatever types they give them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]

_RELATIVE = Decimal("1e-6")


def unmatched(rows: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    """Return the rows that have no partner among the others; a partner serves once."""
    waiting: dict[Row, list[Row]] = defaultdict(list)
    for other in others:
        waiting[_exact_part(other)].append(other)
    alone = []
    for row in rows:
        candidates = waiting[_exact_part(row)]
        for place, other in enumerate(candidates):
            if len(row) == len(other) and all(map(_same, row, other)):
                del candidates[place]
                break
        else:
            alone.append(row)
    return alone


def _same(one: object, other: object) -> bool:
    if one is None or other is None:
        return one is other
    if not (_is_number(one) and _is_number(other)):
        return _text(one) == _text(other)
    a, b = Decimal(str(one)), Decimal(str(other))
    if not (a.is_finite() and b.is_finite()):
        return str(a) == str(b)
    if isinstance(one, float) or isinstance(other, float):
        return abs(a - b) <= max(abs(a), abs(b)) * _RELATIVE + max(_unit(one), _unit(other))
    return a == b


def _unit(value: object) -> Decimal:
    """Return the last place of a decimal: an average is a decimal in Hive, a float in DuckDB."""
    if not isinstance(value, Decimal):
        return Decimal(0)
    return Decimal(1).scaleb(int(value.as_tuple().exponent))


def _exact_part(row: Sequence[Any]) -> Row:
    """Return the row without its numbers, which may have other types in the partner."""
    return tuple(None if cell is None or _is_number(cell) else _text(cell) for cell in row)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _text(value: object) -> str:
    """Return a text without trailing blanks, which char(n) adds in Hive."""
    return str(value).lower() if isinstance(value, bool) else str(value).rstrip()
