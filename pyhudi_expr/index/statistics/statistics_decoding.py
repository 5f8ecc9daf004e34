"""Decode statistics entries of the metadata table into bounds that can be trusted.

`column_stats` and `partition_stats` share one record (HoodieMetadataColumnStats): minimum and
maximum in one of several wrappers; since index version 2 the record's value type completes their
meaning. A bound is trusted if its wrapper, its value type and the column's type agree, and if its
writer is known to write correct bounds. Else it is unknown.

Not trusted (each was seen to lose rows in Hudi itself):

* A float or double range of [0.0, 0.0], or one with NaN: footers without statistics, as those of
  files that hold NaN, are recorded as zeros (apache/hudi issue 18754).
* "All null" where a footer may lack statistics although there are values: long strings and
  binaries, NaN, INT96 (apache/hudi issue 18755).
* Bounds of strings that the order of UTF-16 units may have chosen, where it differs from that of
  code points: Hudi merges bounds as Java strings. They are loosened to hold in both orders.
* A minimum above the maximum.
* Numbers of index version 1 that may be of another type of file than the column's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_nulls,
    arrow_scalar,
    from_buffer,
    numpy_flags,
    numpy_numbers,
)
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Domain, Kind, Values
from pyhudi_expr.index.statistics.bound_decoding import Encoding, decode_arrow, decode_ordinals
from pyhudi_expr.tables.hudi_names import IS_DELETED
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics

#: Parquet integers, and types stored as integers, without a value.
_ZEROS = {"bool": False, "int64": 0, "large_binary": b"\0"}

#: Kinds whose Parquet footers have statistics wherever there are values.
_ALWAYS_IN_FOOTERS = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DATE})

# The milliseconds of years 1 and 9999. As microseconds they are in 1968 and 1978; seconds are
# nearer to 1970. Nanoseconds before 1968 and after 1978 are no microseconds of these years.
_FIRST_MILLISECOND, _LAST_MILLISECOND = -62_135_596_800_000, 253_402_300_799_999
_FIRST_MICROSECOND, _LAST_MICROSECOND = _FIRST_MILLISECOND * 1000, _LAST_MILLISECOND * 1000 + 999
_INT_BITS = 32

# UTF-16 orders supplementary characters (first bytes f0 to f4 in UTF-8) below U+E000..U+FFFF (ee
# and ef), UTF-8 above. Texts at or above P + a supplementary character in UTF-16's order are at or
# above P + U+E000 in either; those at or below P + one of the others are below P + f5, which begins
# no character.
_LATE_BYTE = 0xEE
_LOOSENED_LOWER = (rb"(?s)[\xf0-\xf4].*", b"\xee\x80\x80")
_LOOSENED_UPPER = (rb"(?s)[\xee\xef].*", b"\xf5")


@dataclass(frozen=True)
class StatisticsEntries:
    """M entries of one column, in columns.

    Attributes:
        minimum: For each encoding that occurs an Arrow array of length M, null where the entry has
            no bound or one of another encoding.
        maximum: The same for the upper bounds.
        null_count: Number of nulls; -1 where missing.
        value_count: Number of values; -1 where missing.
    """

    minimum: dict[Encoding, AnyArray]
    maximum: dict[Encoding, AnyArray]
    null_count: Int64Array
    value_count: Int64Array

    def __len__(self) -> int:
        return len(self.null_count)

    def filter(self, chosen: BoolArray) -> StatisticsEntries:
        """Return the chosen entries (one flag for each)."""
        rows = arrow_array(np.flatnonzero(chosen))
        return StatisticsEntries(
            {encoding: values.take(rows) for encoding, values in self.minimum.items()},
            {encoding: values.take(rows) for encoding, values in self.maximum.items()},
            self.null_count[chosen],
            self.value_count[chosen],
        )

    @staticmethod
    def of(records: ColumnStatistics) -> StatisticsEntries:
        """Convert one column's entries from the records of the metadata table's reader."""
        minimum: dict[Encoding, AnyArray] = {}
        maximum: dict[Encoding, AnyArray] = {}
        for (ordinal, info), rows in _value_types(records):
            for encoded, wrapped in ((minimum, records.minimum), (maximum, records.maximum)):
                for wrapper, values in wrapped.items():
                    encoding = Encoding(wrapper, None if ordinal < 0 else ordinal, info)
                    encoded[encoding] = values if rows is None else _only(values, rows)
        return StatisticsEntries(
            minimum,
            maximum,
            numpy_numbers(records.null_count, -1),
            numpy_numbers(records.value_count, -1),
        )


def _value_types(
    records: ColumnStatistics,
) -> Iterator[tuple[tuple[int, str | None], BoolArray | None]]:
    """Return the value types that occur, each with flags for its entries (None: all entries)."""
    infos = records.type_info.dictionary_encode()
    info = numpy_numbers(infos.indices, -1).astype(np.int64)
    pairs = np.stack([records.value_type, info]) if len(records) else np.zeros((2, 0), np.int64)
    for ordinal, number in _distinct_columns(pairs):
        rows = (pairs[0] == ordinal) & (pairs[1] == number)
        text = None if number < 0 else infos.dictionary[number].as_py()
        yield (ordinal, text), None if rows.all() else rows


def _distinct_columns(pairs: Int64Array) -> list[list[int]]:
    if not pairs.size:
        return []
    if (pairs == pairs[:, :1]).all():
        return [pairs[:, 0].tolist()]
    return list(np.unique(pairs, axis=1).T.tolist())


def _only(values: AnyArray, rows: BoolArray) -> AnyArray:
    """Return the values of the flagged rows, null elsewhere."""
    return pc.if_else(arrow_array(rows), values, arrow_scalar(None, values.type))


@dataclass(frozen=True)
class DecodedBounds:
    """Bounds of M entries.

    Attributes:
        bounds: The bounds.
        doubted: Flags for entries that are not trusted, although the file may have better bounds.
    """

    bounds: Bounds
    doubted: BoolArray


def decode(entries: StatisticsEntries, column: BoundColumn, is_log: BoolArray) -> DecodedBounds:
    """Decode entries that describe one file each.

    Args:
        entries: The entries.
        column: Their column.
        is_log: For each entry whether its file is a log file. There, "all null" may be a column
            that a partial update left out, and "no value" a column that its writer did not collect.
    """
    without_bounds = _all_null(entries, _absent(entries))
    # Of nulls alone a footer's integers have counts and no bounds; zeros are recorded then. So
    # zeros show that the footer has statistics, whatever type is kept as integers.
    zeros = _all_null(entries, _zeros(entries)) & ~is_log
    doubted = without_bounds & ((entries.value_count > 0) | is_log)
    if column.domain.kind in _ALWAYS_IN_FOOTERS:
        doubted &= is_log
    return _decode(entries, column.domain, doubted, without_bounds | zeros, ~is_log)


def decode_merged(entries: StatisticsEntries, column: BoundColumn) -> DecodedBounds:
    """Decode entries that aggregate files (partition_stats).

    A file without statistics is counted as all null and left out of the range. So a range is
    complete only if no null was counted; a float range was merged from zeros. Files from before the
    column was added are not counted at all, so there may always be nulls. Clusterings of Hudi 1.2
    make no entries of the marks of deletes, whose values then count as nulls.
    """
    doubted = np.zeros(len(entries), dtype=np.bool_)
    if column.domain.kind is Kind.FLOAT or column.name == IS_DELETED:
        doubted[:] = True
    elif column.domain.kind not in _ALWAYS_IN_FOOTERS:
        doubted = entries.null_count != 0
    all_null = _all_null(entries, _absent(entries) | _zeros(entries))
    found = _decode(entries, column.domain, doubted, all_null, np.zeros_like(doubted))
    return replace(found, bounds=replace(found.bounds, may_be_null=np.ones_like(doubted)))


def _decode(
    entries: StatisticsEntries,
    domain: Domain,
    doubted: BoolArray,
    all_null: BoolArray,
    foreign: BoolArray,
) -> DecodedBounds:
    """Decode entries.

    Args:
        entries: The entries.
        domain: The domain of their column.
        doubted: Flags for entries that are not trusted.
        all_null: Flags for entries of nulls alone.
        foreign: Flags for entries of files that may be another writer's. Log files are Hudi's own;
            so are files that entered an index after it was made, which aggregates are of.
    """
    lower: Any
    upper: Any
    loosened = np.zeros(len(entries), dtype=np.bool_)
    if domain.is_ordinal:
        lower, upper, wrong = _ordinal_bounds(entries, domain, doubted, foreign)
    else:
        lower, upper, wrong, loosened = _arrow_bounds(entries, domain, doubted)
    doubted = doubted | wrong
    counted = (entries.null_count >= 0) & (entries.value_count >= 0)
    may_be_value = doubted | ~all_null
    may_be_null = doubted | ~counted | (entries.null_count != 0)
    unbounded = may_be_value & (
        _unknown_ends(lower, MIN_ORDINAL) | _unknown_ends(upper, MAX_ORDINAL)
    )
    # Readers give NULL for some values of another type than the column's.
    may_be_null |= unbounded & ~_absent(entries)
    return DecodedBounds(
        Bounds(lower, upper, may_be_value, may_be_null), doubted | unbounded | loosened
    )


def _unknown_ends(ends: Values, unknown: int) -> BoolArray:
    if isinstance(ends, np.ndarray):
        return np.asarray(ends == unknown, dtype=np.bool_)
    return numpy_flags(ends.is_null())


def _all_null(entries: StatisticsEntries, without_values: BoolArray) -> BoolArray:
    counted = (entries.null_count >= 0) & (entries.value_count >= 0)
    answer: BoolArray = without_values & counted & (entries.null_count == entries.value_count)
    return answer


def _absent(entries: StatisticsEntries) -> BoolArray:
    """Return which entries have neither bound."""
    present = np.zeros(len(entries), dtype=np.bool_)
    for values in (*entries.minimum.values(), *entries.maximum.values()):
        present |= numpy_flags(values.is_valid())
    return ~present


def _zeros(entries: StatisticsEntries) -> BoolArray:
    """Return which entries have zeros, as numbers, for both bounds."""
    zeros = np.zeros((2, len(entries)), dtype=np.bool_)
    for of_end, encoded in zip(zeros, (entries.minimum, entries.maximum), strict=True):
        for values in encoded.values():
            zero = _ZEROS.get(str(values.type))
            if zero is not None:
                of_end |= _is_true(pc.equal(values, arrow_scalar(zero, values.type)))
    both: BoolArray = zeros[0] & zeros[1]
    return both


def _ordinal_bounds(
    entries: StatisticsEntries, domain: Domain, doubted: BoolArray, foreign: BoolArray
) -> tuple[Int64Array, Int64Array, BoolArray]:
    lower = np.full(len(entries), MIN_ORDINAL, dtype=np.int64)
    upper = np.full(len(entries), MAX_ORDINAL, dtype=np.int64)
    unread = np.zeros(len(entries), dtype=np.bool_)
    for encoded, bound, outward in (
        (entries.minimum, lower, -np.inf),
        (entries.maximum, upper, np.inf),
    ):
        for encoding, values in encoded.items():
            found, present = decode_ordinals(values, encoding, domain, outward)
            bound[present] = found[present]
            is_stored = numpy_flags(values.is_valid())
            is_certain = ~foreign | _is_of_one_type(found, encoding, domain)
            unread |= is_stored & ~(present & is_certain)
    wrong = lower > upper
    if domain.kind is Kind.FLOAT:
        # NaN became the greatest ordinal; zeros are what a missing range is recorded as.
        wrong |= (lower == MAX_ORDINAL) | ((lower == 0) & (upper == 0))
    lower[doubted | wrong | unread] = MIN_ORDINAL
    upper[doubted | wrong | unread] = MAX_ORDINAL
    return lower, upper, wrong


def _is_of_one_type(ordinals: Int64Array, encoding: Encoding, domain: Domain) -> BoolArray:
    """Return which numbers can be of no type but the one for which they are taken.

    Index version 1 does not say of what type a file's numbers are. Times of coarser and finer units
    are as numbers far from those of the column's, if both are within years 1 to 9999. Unsigned
    integers, which readers widen as such, are recorded as signed ones.
    """
    if encoding.type_ordinal is not None:
        return np.ones(len(ordinals), dtype=np.bool_)
    match domain.kind, encoding.wrapper:
        case (Kind.WALL_CLOCK | Kind.INSTANT, "LongWrapper"):
            is_coarse = (ordinals >= _FIRST_MILLISECOND) & (ordinals <= _LAST_MILLISECOND)
            is_fine = (ordinals < _FIRST_MICROSECOND) | (ordinals > _LAST_MICROSECOND)
            return ~(is_coarse | is_fine)
        case (Kind.INTEGER, "IntWrapper") if domain.bits > _INT_BITS:
            return ordinals >= 0
        case (Kind.FLOAT, "IntWrapper" | "LongWrapper"):
            return ordinals >= 0
    return np.ones(len(ordinals), dtype=np.bool_)


def _arrow_bounds(
    entries: StatisticsEntries, domain: Domain, doubted: BoolArray
) -> tuple[AnyArray, AnyArray, BoolArray, BoolArray]:
    """Return lower and upper bounds, which entries are wrong, and which were loosened."""
    nothing = arrow_scalar(None, domain.arrow_type)
    bounds = []
    unread = np.zeros(len(entries), dtype=np.bool_)
    for encoded in (entries.minimum, entries.maximum):
        bound: Any = arrow_nulls(len(entries), domain.arrow_type)
        for encoding, values in encoded.items():
            found = decode_arrow(values, encoding, domain)
            unread |= _is_true(pc.and_not(values.is_valid(), found.is_valid()))
            bound = pc.coalesce(bound, found)
        bounds.append(bound)
    lower, upper = bounds
    loosened = np.zeros(len(entries), dtype=np.bool_)
    if domain.kind is Kind.TEXT and (_has_late_bytes(lower) or _has_late_bytes(upper)):
        stored_lower, stored_upper = lower, upper
        lower = pc.replace_substring_regex(lower, *_LOOSENED_LOWER)
        upper = pc.replace_substring_regex(upper, *_LOOSENED_UPPER)
        loosened = _is_true(pc.not_equal(lower, stored_lower))
        loosened |= _is_true(pc.not_equal(upper, stored_upper))
    wrong = _is_true(pc.greater(lower, upper))
    known = arrow_array(~(doubted | wrong | unread))
    return pc.if_else(known, lower, nothing), pc.if_else(known, upper, nothing), wrong, loosened


def _has_late_bytes(texts: AnyArray) -> bool:
    """Return whether any text may have a character whose position depends on the order."""
    content = texts.buffers()[-1]
    return bool(content) and bool(from_buffer(content, np.uint8).max() >= _LATE_BYTE)


def _is_true(answer: Values) -> BoolArray:
    return numpy_flags(answer)
