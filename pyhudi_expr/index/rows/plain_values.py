"""Values of a predicate as a Parquet file would store them, to look for them."""

from __future__ import annotations

from pyhudi_expr.expr.bound import BoundLiteral
from pyhudi_expr.expr.domains import Kind, unscaled
from pyhudi_expr.index.statistics.stored_bounds import StoredColumn
from pyhudi_expr.tables.parquet.footer import ParquetFooter

_WIDTHS = {"INT32": 4, "INT64": 8}
_FIXED = "FIXED_LEN_BYTE_ARRAY"


def width_of(footer: ParquetFooter, column: StoredColumn) -> int | None:
    """Return the bytes of each plain value; None if they differ."""
    leaf = footer.metadata.schema.column(column.position)
    return leaf.length if leaf.physical_type == _FIXED else _WIDTHS.get(leaf.physical_type)


def plain_value(footer: ParquetFooter, column: StoredColumn, literal: BoundLiteral) -> bytes | None:
    """Return the only bytes that a file may store for a value; None if there may be others.

    Floats have two zeros and many NaN, and decimals in byte arrays have more than one form.
    """
    leaf = footer.metadata.schema.column(column.position)
    stored, domain, value = column.stored, column.domain, literal.lower
    match stored.kind:
        case Kind.TEXT | Kind.BINARY:
            text = bytes(value)
            if leaf.physical_type == _FIXED:
                return text if len(text) == leaf.length else None
            return text if leaf.physical_type == "BYTE_ARRAY" else None
        case Kind.INTEGER | Kind.DATE:
            number = int(value)
        case Kind.WALL_CLOCK | Kind.INSTANT:
            if domain.units % stored.units or int(value) % (domain.units // stored.units):
                return None
            number = int(value) // (domain.units // stored.units)
        case Kind.DECIMAL if stored.scale == domain.scale:
            number = int(value) if domain.is_ordinal else unscaled(value, domain.scale)
            if leaf.physical_type == _FIXED:
                return _signed(number, leaf.length or 0, "big")
        case _:
            return None
    width = _WIDTHS.get(leaf.physical_type)
    return None if width is None else _signed(number, width, "little")


def _signed(number: int, width: int, order: str) -> bytes | None:
    try:
        return number.to_bytes(width, order, signed=True)  # type: ignore[arg-type]
    except OverflowError:
        return None
