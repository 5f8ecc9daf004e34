"""Evidence of Bloom filters and dictionaries about equalities: a value is not in a row group.

They need a read more for each file, so they are asked last, for what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pyhudi_expr.arrays import BoolArray, Mask
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Kind, unscaled
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.planner import positive_leaves
from pyhudi_expr.index.rows.containers import RowGroups
from pyhudi_expr.index.rows.file_reading import FileReader
from pyhudi_expr.index.rows.known_file import Chunk, KnownFile
from pyhudi_expr.index.statistics.stored_bounds import StoredColumn
from pyhudi_expr.tables.parquet import value_sets
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError
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


#: More values are not looked for: one of them is likely to be there.
_MOST_VALUES = 64


@dataclass(frozen=True)
class _Wanted:
    """An equality whose values can be looked for."""

    leaf: Leaf
    column: BoundColumn
    options: Sequence[BoundLiteral]


@dataclass(frozen=True, eq=False)
class ValueEvidence:
    """For each leaf, the row groups that may hold one of its values (an `Evidence`)."""

    _flags: dict[int, tuple[Leaf, BoolArray]] = field(default_factory=dict)

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """See `pyhudi_expr.expr.evaluate.Evidence`."""
        known = self._flags.get(id(leaf))
        return True if known is None or not truth else known[1]


def value_evidence(
    predicate: BoundExpression, groups: RowGroups, reader: FileReader
) -> ValueEvidence | None:
    """Look for the values of a predicate's equalities in row groups; None if there are none.

    Args:
        predicate: The predicate.
        groups: The row groups.
        reader: Reads filters and dictionaries that are not known yet.
    """
    wanted = list(_wanted(predicate, groups.unread))
    if not wanted or not len(groups):
        return None
    by_file = groups.by_file()
    reader.read_filters(
        [
            (file, [chunk for one in wanted for chunk in _chunks(file, numbers, one.column)])
            for file, numbers in by_file
        ]
    )
    _read_blocks(wanted, by_file, reader)
    flags = {
        id(one.leaf): (
            one.leaf,
            np.array(
                [
                    _may_hold_any(file, number, one)
                    for file, numbers in by_file
                    for number in numbers
                ],
                np.bool_,
            ),
        )
        for one in wanted
    }
    return ValueEvidence(flags)


def _wanted(predicate: BoundExpression, unread: frozenset[str]) -> Iterator[_Wanted]:
    for leaf in positive_leaves(predicate, True):
        found = equality(leaf)
        if found is None or found[0].char is not None or found[0].name in unread:
            continue
        column, options = found
        if len(options) <= _MOST_VALUES and all(map(exact, options)):
            yield _Wanted(leaf, column, options)


def _chunks(file: KnownFile, groups: Sequence[int], column: BoundColumn) -> list[Chunk]:
    stored = file.column(column)
    return [] if stored is None else [(group, stored.position) for group in groups]


def _values(
    file: KnownFile, stored: StoredColumn, options: Sequence[BoundLiteral]
) -> list[bytes] | None:
    """Return the values as the file stores them; None if that is not known of each."""
    values = [plain_value(file.footer, stored, option) for option in options]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _read_blocks(
    wanted: Sequence[_Wanted],
    by_file: Sequence[tuple[KnownFile, Sequence[int]]],
    reader: FileReader,
) -> None:
    blocks: list[tuple[KnownFile, list[tuple[Chunk, int]]]] = []
    for file, groups in by_file:
        needed: list[tuple[Chunk, int]] = []
        for one in wanted:
            stored = file.column(one.column)
            values = None if stored is None else _values(file, stored, one.options)
            for chunk in _chunks(file, groups, one.column) if values else ():
                header = file.bloom_filters.get(chunk)
                if header is not None:
                    needed.extend((chunk, header.block_of(value)) for value in values or ())
        blocks.append((file, needed))
    reader.read_blocks(blocks)


def _may_hold_any(file: KnownFile, group: int, wanted: _Wanted) -> bool:
    stored = file.column(wanted.column)
    values = None if stored is None else _values(file, stored, wanted.options)
    if stored is None or values is None:
        return True
    chunk = group, stored.position
    return any(_may_hold(file, chunk, value, width_of(file.footer, stored)) for value in values)


def _may_hold(file: KnownFile, chunk: Chunk, value: bytes, width: int | None) -> bool:
    header = file.bloom_filters.get(chunk)
    if header is not None:
        block = file.filter_blocks.get((chunk, header.block_of(value)))
        if block is not None and not value_sets.may_hold(block, value):
            return False
    dictionary = file.dictionaries.get(chunk)
    if dictionary is None:
        return True
    try:
        return value_sets.dictionary_may_hold(dictionary, value, width)
    except NotParquetError:
        return True
