"""Compare bounds of statistics entries with the bounds of what they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_nulls
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Values,
    exact_decimal,
    floats_of,
)
from pyhudi_expr.index.statistics.bound_decoding import Encoding, decode_arrow, decode_ordinals
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries
from pyhudi_expr.manage.audit.column_facts import ColumnFacts
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords

_SHOWN = 60


@dataclass(frozen=True)
class StoredBounds:
    """Both bounds of N entries.

    Attributes:
        lower: In the physical form of the column's domain.
        upper: The same.
        is_stored: Whether the entry has bounds, readable or not.
        is_decoded: Whether they can be read with certainty.
        is_foreign: Whether they are wrapped as no type of the column's kind is.
    """

    lower: Values
    upper: Values
    is_stored: BoolArray
    is_decoded: BoolArray
    is_foreign: BoolArray


_INTEGERS = ("IntWrapper", "LongWrapper")
_WRAPPERS: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("BooleanWrapper",),
    Kind.INTEGER: _INTEGERS,
    Kind.FLOAT: ("FloatWrapper", "DoubleWrapper", *_INTEGERS),
    Kind.DECIMAL: ("DecimalWrapper", "BytesWrapper"),
    Kind.DATE: ("DateWrapper", "LocalDateWrapper", *_INTEGERS),
    Kind.WALL_CLOCK: ("TimestampMicrosWrapper", "LongWrapper"),
    Kind.INSTANT: ("TimestampMicrosWrapper", "LongWrapper"),
    Kind.TEXT: ("StringWrapper",),
    Kind.BINARY: ("BytesWrapper",),
}


def stored_bounds(entries: StatisticsEntries, domain: Domain) -> StoredBounds:
    """Decode the bounds of entries without doubting any of them."""
    stored, foreign = (np.zeros(len(entries), np.bool_) for _ in range(2))
    for encoding, values in entries.minimum.items():
        there = values.is_valid().to_numpy(zero_copy_only=False)
        stored |= there
        if encoding.wrapper not in _WRAPPERS[domain.kind]:
            foreign |= there
    if domain.is_ordinal:
        lower = np.full(len(entries), MIN_ORDINAL, np.int64)
        upper = np.full(len(entries), MAX_ORDINAL, np.int64)
        both = _decoded(entries.minimum, domain, lower, -np.inf)
        both &= _decoded(entries.maximum, domain, upper, np.inf)
        return StoredBounds(lower, upper, stored, both, foreign)
    low = _arrow(entries.minimum, domain, len(entries))
    high = _arrow(entries.maximum, domain, len(entries))
    both = pc.and_(low.is_valid(), high.is_valid()).to_numpy(zero_copy_only=False)
    return StoredBounds(low, high, stored, both, foreign)


def _decoded(
    encoded: Mapping[Encoding, AnyArray], domain: Domain, into: Int64Array, outward: float
) -> BoolArray:
    """Decode into an array, and return for which entries that was possible."""
    present = np.zeros(len(into), np.bool_)
    for encoding, values in encoded.items():
        ordinals, there = decode_ordinals(values, encoding, domain, outward)
        into[there] = ordinals[there]
        present |= there
    return present


def _arrow(encoded: Mapping[Encoding, AnyArray], domain: Domain, size: int) -> AnyArray:
    found: Any = arrow_nulls(size, domain.arrow_type)
    for encoding, values in encoded.items():
        found = pc.coalesce(found, decode_arrow(values, encoding, domain))
    return found


def taken(values: Values, positions: Int64Array) -> Values:
    """Return the values at positions."""
    return values[positions] if isinstance(values, np.ndarray) else values.take(pa.array(positions))


def less(left: Values, right: Values) -> BoolArray:
    """Return where the left value is less; False where one is unknown (null)."""
    if isinstance(left, np.ndarray):
        flags: BoolArray = left < right
        return flags
    answer = pc.fill_null(pc.less(left, right), False)
    return np.asarray(answer.to_numpy(zero_copy_only=False), np.bool_)


def shown(values: Values, row: int, domain: Domain) -> str:
    """Return a bound as a person reads it."""
    value = values[row]
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, bytes):
        text = value.decode(errors="replace") if domain.kind is Kind.TEXT else value.hex()
        return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} long)")
    if domain.kind is Kind.FLOAT:
        return str(floats_of(np.array([value]))[0])
    if domain.kind is Kind.DATE:
        return str(np.datetime64(int(value), "D"))
    if domain.kind is Kind.DECIMAL and domain.is_ordinal:
        return str(exact_decimal(int(value), domain.scale))
    return str(value)


_LONG_TEXT = 1024
"""Bytes beyond which a writer may have replaced a bound by a looser one."""


@dataclass(frozen=True)
class Truth:
    """What N entries should say.

    Attributes:
        is_known: Whether the bounds are exact.
        has_value: Whether there is surely a value that is not null.
        nulls: The number of nulls; -1 if unknown.
        rows: The number of values, nulls included; -1 if unknown.
        is_exact: Whether an entry should have these very bounds, and no wider ones.
    """

    lower: Values
    upper: Values
    is_known: BoolArray
    has_value: BoolArray
    nulls: Int64Array
    rows: Int64Array
    is_exact: BoolArray

    @staticmethod
    def of(facts: ColumnFacts, positions: Int64Array) -> Truth:
        """Return the truth about the files at these positions."""
        known = facts.is_known[positions]
        exact = known & ~facts.is_retyped[positions]
        has_value = known & np.asarray(facts.bounds.may_be_value)[positions]
        lower, upper = (taken(end, positions) for end in (facts.bounds.lower, facts.bounds.upper))
        if not isinstance(upper, np.ndarray):
            lengths = pc.fill_null(pc.binary_length(upper), 0) if _is_text(upper) else None
            if lengths is not None:
                exact &= np.asarray(lengths) <= _LONG_TEXT
        nulls, rows = facts.nulls[positions], facts.rows[positions]
        return Truth(lower, upper, known, has_value, nulls, rows, exact)


def _is_text(values: Values) -> bool:
    return bool(pa.types.is_large_binary(values.type))


@dataclass(frozen=True)
class Described:
    """What entries are about.

    Attributes:
        places: For each entry its file, or its partition's path.
    """

    records: AuditedRecords
    partition: str
    column: BoundColumn
    places: Sequence[str]

    def finding(
        self,
        fault: Fault,
        severity: Severity,
        row: int,
        *,
        expected: str,
        found: str,
        queries: str,
        readers: tuple[Reader, ...],
    ) -> Finding:
        """Return a finding about an entry."""
        return self.records.finding(
            self.partition,
            fault,
            severity,
            self.places[row],
            subject=self.column.name,
            expected=expected,
            found=found,
            queries=queries,
            readers=readers,
        )


@dataclass(frozen=True)
class BoundFaults:
    """What is wrong with the bounds of N entries, as flags; see `wrong_bounds`.

    Attributes:
        loses_ours: Whether this package, which doubts some entries, loses rows by it.
    """

    bounds: StoredBounds
    truth: Truth
    flags: Sequence[tuple[Fault, BoolArray]]
    loses_ours: BoolArray

    @property
    def about_nulls(self) -> BoolArray:
        """The entries that are wrong about which values are null."""
        found = np.zeros(len(self.loses_ours), np.bool_)
        for fault, flags in self.flags:
            if fault in (Fault.VALUES_CALLED_NULLS, Fault.NULLS_DENIED):
                found |= flags
        return found

    def findings(self, described: Described) -> Iterator[Finding]:
        """Return the findings, a limited number of each kind."""
        for fault, flags in self.flags:
            for row in np.flatnonzero(flags)[:MOST].tolist():
                yield self._finding(described, fault, row)

    def _finding(self, described: Described, fault: Fault, row: int) -> Finding:
        column = described.column
        truth = self._shown(self.truth.lower, self.truth.upper, row, column)
        found = self._shown(self.bounds.lower, self.bounds.upper, row, column)
        if not self.bounds.is_stored[row]:
            found = "no range"
        elif not self.bounds.is_decoded[row]:
            found = "bounds of another type"
        lost = _SEVERITIES[fault] is Severity.ROWS_LOST
        ours = (Reader.PYHUDI,) if self.loses_ours[row] else ()
        return described.finding(
            fault,
            _SEVERITIES[fault],
            row,
            expected=truth if self.truth.has_value[row] else "only nulls",
            found=found,
            queries=self._queries(fault, row, column),
            readers=(Reader.HUDI, *ours) if lost else (),
        )

    def _shown(self, lower: Values, upper: Values, row: int, column: BoundColumn) -> str:
        low, high = (shown(end, row, column.domain) for end in (lower, upper))
        return f"{low} to {high}"

    def _queries(self, fault: Fault, row: int, column: BoundColumn) -> str:
        name = column.name
        match fault:
            case Fault.NULLS_DENIED:
                return f"{name} IS NULL"
            case Fault.VALUES_CALLED_NULLS | Fault.RANGE_MISSING | Fault.RANGE_INVERTED:
                return f"any comparison of {name}"
            case Fault.RANGE_TOO_WIDE:
                return f"those that filter by {name} read the file for values beyond"
            case Fault.RANGE_OF_OTHER_TYPE:
                return f"those that filter by {name}"
        if less(self.truth.lower, self.bounds.lower)[row]:
            return f"{name} = {shown(self.truth.lower, row, column.domain)}"
        return f"{name} = {shown(self.truth.upper, row, column.domain)}"


_SEVERITIES = {
    Fault.RANGE_OF_OTHER_TYPE: Severity.QUERY_FAILS,
    Fault.RANGE_INVERTED: Severity.ROWS_LOST,
    Fault.VALUES_CALLED_NULLS: Severity.ROWS_LOST,
    Fault.RANGE_MISSING: Severity.ROWS_LOST,
    Fault.RANGE_WITHOUT_NAN: Severity.ROWS_LOST,
    Fault.RANGE_IN_UTF16_ORDER: Severity.ROWS_LOST,
    Fault.RANGE_TOO_NARROW: Severity.ROWS_LOST,
    Fault.NULLS_DENIED: Severity.ROWS_LOST,
    Fault.RANGE_TOO_WIDE: Severity.SLOWER,
}


def wrong_bounds(
    column: BoundColumn,
    entries: StatisticsEntries,
    bounds: StoredBounds,
    trusted: Bounds,
    truth: Truth,
) -> BoundFaults:
    """Compare N entries with what they should say.

    Args:
        column: The column of all entries.
        entries: The entries.
        bounds: Their bounds.
        trusted: Their bounds as this package trusts them.
        truth: What they should say.
    """
    counted = (entries.null_count >= 0) & (entries.value_count >= 0)
    only_nulls = counted & (entries.null_count == entries.value_count) & ~bounds.is_stored
    has_value, stored, read = truth.has_value, bounds.is_stored, bounds.is_decoded
    inverted = has_value & read & less(bounds.upper, bounds.lower)
    beyond = less(truth.lower, bounds.lower) | less(bounds.upper, truth.upper)
    narrow = has_value & read & beyond & ~inverted
    within = less(bounds.lower, truth.lower) | less(truth.upper, bounds.upper)
    wide = has_value & read & within & truth.is_exact & ~narrow & ~inverted
    denied = (truth.nulls > 0) & (entries.null_count == 0)
    of_nan = narrow & _have_nan(column, truth)
    utf16 = _in_utf16_order(column, narrow, bounds, truth)
    flags = [
        (Fault.RANGE_OF_OTHER_TYPE, bounds.is_foreign & truth.is_exact),
        (Fault.RANGE_INVERTED, inverted),
        (Fault.VALUES_CALLED_NULLS, has_value & only_nulls),
        (Fault.RANGE_MISSING, has_value & ~stored & ~only_nulls),
        (Fault.RANGE_WITHOUT_NAN, of_nan),
        (Fault.RANGE_IN_UTF16_ORDER, utf16),
        (Fault.RANGE_TOO_NARROW, narrow & ~of_nan & ~utf16),
        (Fault.NULLS_DENIED, denied),
        (Fault.RANGE_TOO_WIDE, wide),
    ]
    return BoundFaults(bounds, truth, flags, _excludes(trusted, truth))


def _excludes(trusted: Bounds, truth: Truth) -> BoolArray:
    """Return where trusted bounds exclude a row that is there."""
    beyond = less(truth.lower, trusted.lower) | less(trusted.upper, truth.upper)
    may_be_value = np.broadcast_to(trusted.may_be_value, len(truth.rows))
    may_be_null = np.broadcast_to(trusted.may_be_null, len(truth.rows))
    flags: BoolArray = truth.has_value & (beyond | ~may_be_value)
    return flags | ((truth.nulls > 0) & ~may_be_null)


def _have_nan(column: BoundColumn, truth: Truth) -> BoolArray:
    if column.domain.kind is not Kind.FLOAT:
        return np.zeros(len(truth.rows), np.bool_)
    flags: BoolArray = truth.upper == MAX_ORDINAL
    return flags


def _in_utf16_order(
    column: BoundColumn, narrow: BoolArray, bounds: StoredBounds, truth: Truth
) -> BoolArray:
    """Return which ranges hold all values in the order of UTF-16, that of Java's texts."""
    flags = np.zeros(len(narrow), np.bool_)
    if column.domain.kind is Kind.TEXT:
        for row in np.flatnonzero(narrow).tolist():
            ends = (bounds.lower, truth.lower, truth.upper, bounds.upper)
            ordered = [_utf16(end[row].as_py()) for end in ends]
            flags[row] = ordered == sorted(ordered)
    return flags


def _utf16(text: bytes) -> bytes:
    return text.decode(errors="replace").encode("utf-16-be", "surrogatepass")
