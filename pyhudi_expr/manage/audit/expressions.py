"""`expr_index_*`: bounds and filters of a function's results against the rows of base files.

The functions are those of Hudi (of Spark). Here they are evaluated by this package's own rules,
each row as a container of one value: where these prove that a row's result is outside of the
stored bounds, or give it exactly and the filter excludes it, the entry is wrong. Functions without
rules, and days that engines disagree about, are left to `--spark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundCall, BoundColumn, BoundIsNull, BoundLiteral, BoundTerm
from pyhudi_expr.expr.domains import Bounds, Domain, Kind, physical_scalar
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries
from pyhudi_expr.manage.audit.bound_faults import StoredBounds, less, shown, stored_bounds, taken
from pyhudi_expr.manage.audit.column_facts import point_bounds
from pyhudi_expr.manage.audit.filters import FilterTruth
from pyhudi_expr.manage.audit.findings import Fault, Finding, Severity
from pyhudi_expr.manage.audit.scope import BOTH, MOST, AuditedRecords, AuditedTable
from pyhudi_expr.manage.indexing.index_plan import IDENTITY, arguments
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records.metadata_records import decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.statistics import column_statistics
from pyhudi_expr.tables.slices.slice_rows import parquet_columns, parquet_file

_FIRST_CERTAIN_DAY = -141_000  # in 1583
_DAYS = frozenset({Kind.DATE, Kind.WALL_CLOCK})
_TEXTS = frozenset({Kind.TEXT, Kind.INTEGER})
_RESULTS = {
    "StringWrapper": Domain(Kind.TEXT),
    "BooleanWrapper": Domain(Kind.BOOLEAN),
    **dict.fromkeys(("IntWrapper", "LongWrapper", "DateWrapper"), Domain(Kind.INTEGER)),
    **dict.fromkeys(("FloatWrapper", "DoubleWrapper"), Domain(Kind.FLOAT)),
}
"""The order of a function's results, by the wrappers of their bounds."""


@dataclass(frozen=True)
class Function:
    """A function of one column, as it is evaluated here."""

    column: BoundColumn
    term: BoundTerm
    text: str

    @staticmethod
    def of(table: AuditedTable, definition: IndexDefinition) -> Function:
        """Return the function of an index.

        Raises:
            HudiError: It has no rules here.
        """
        name, fields = definition.function or IDENTITY, definition.fields
        column = table.columns.get(fields[0]) if len(fields) == 1 else None
        if column is None:
            raise UnsupportedTable(f"{definition.name}: it is not over one column with an order")
        if name == IDENTITY:
            return Function(column, column, column.name)
        given = "".join(f", {argument!r}" for argument in arguments(definition))
        text = f"{name}({column.name}{given})"
        bound = bind(parse_predicate(f"{text} IS NULL", SPARK), Scope(table.schema))
        term = bound.term if isinstance(bound, BoundIsNull) else None
        is_exact = column.domain.kind in (*_DAYS, Kind.TEXT)
        if not isinstance(term, BoundCall) or not is_exact:
            raise UnsupportedTable(f"{definition.name}: {text} is only evaluated by Spark")
        return Function(column, term, text)

    def results(self, values: AnyArray) -> Bounds | None:
        """Return the bounds of each value's result; None if there are no values."""
        points = point_bounds(values, self.column) if len(values) else None
        return None if points is None else _evaluated(self.term, points)

    def certain(self, values: AnyArray) -> AnyArray:
        """Return the values whose results are the same in every engine, without nulls."""
        present = values.drop_null()
        if self.column.domain.kind not in _DAYS or self.term == self.column:
            return present
        points = point_bounds(present, self.column)
        if points is None or not len(present):
            return present
        is_day = self.column.domain.kind is Kind.DATE
        day = _FIRST_CERTAIN_DAY * (1 if is_day else 86_400 * self.column.domain.units)
        return present.filter(pa.array(points.lower >= day))


def _evaluated(term: BoundTerm, points: Bounds) -> Bounds:
    match term:
        case BoundColumn():
            return points
        case BoundLiteral(lower=lower, upper=upper, domain=domain):
            least, greatest = (physical_scalar(domain, end) for end in (lower, upper))
            return Bounds(least, greatest, True, False)
        case BoundCall(function=function, args=args):
            return function(*(_evaluated(each, points) for each in args))


def check_expression_bounds(
    records: AuditedRecords, table: AuditedTable, definition: IndexDefinition
) -> Iterator[Finding]:
    """Return the files whose bounds exclude a result of theirs.

    Raises:
        HudiError: The partition cannot be read, or the function has no rules here.
    """
    function = Function.of(table, definition)
    stats = records.records.statistics(definition.name, [column_prefix(function.column.name)])
    files = records.bases
    keys = files.keys(function.column.name)
    place = np.asarray(pc.fill_null(pc.index_in(keys, stats.key), -1), np.int64)
    yield from _missing(records, definition, np.flatnonzero(place < 0))
    domain = function.term.domain
    own = StatisticsEntries.of(stats)
    bounds = stored_bounds(own, domain)
    for at in np.flatnonzero(place >= 0).tolist():
        row = int(place[at])
        if bounds.is_decoded[row]:
            outside = _outside(table, function, files.paths[at], bounds, row)
            if outside is not None:
                text, path = function.text, files.paths[at]
                yield _finding(records, definition, text, path, outside, bounds, row, domain)


def _missing(
    records: AuditedRecords, definition: IndexDefinition, files: Int64Array
) -> Iterator[Finding]:
    for at in files[:MOST].tolist():
        yield records.finding(
            definition.name,
            Fault.ENTRY_MISSING,
            Severity.SLOWER,
            records.bases.paths[at],
            subject=definition.function,
            expected="an entry",
            found="none",
            queries=f"those that filter by {definition.function} read the file",
        )


def _finding(
    records: AuditedRecords,
    definition: IndexDefinition,
    text: str,
    path: str,
    outside: str,
    bounds: StoredBounds,
    row: int,
    domain: Domain,
) -> Finding:
    low, high = (shown(end, row, domain) for end in (bounds.lower, bounds.upper))
    return records.finding(
        definition.name,
        Fault.RESULT_OUTSIDE_RANGE,
        Severity.ROWS_LOST,
        path,
        subject=text,
        expected=f"bounds that hold {outside}",
        found=f"{low} to {high}",
        queries=f"{text} = {outside}",
        readers=BOTH,
    )


def _outside(
    table: AuditedTable, function: Function, path: str, bounds: StoredBounds, row: int
) -> str | None:
    """Return a result of the file that the bounds exclude."""
    for values in _columns(table, function, path):
        present = function.certain(values)
        results = function.results(present)
        if results is None:
            continue
        flags = _beyond(results, bounds, row, len(present))
        if flags.any():
            at = int(np.argmax(flags))
            return f"{present[at]} gives {_shown_result(results, at, function.term.domain)}"
    return None


def _columns(table: AuditedTable, function: Function, path: str) -> Iterator[AnyArray]:
    storage = table.table.storage
    try:
        with parquet_file(storage, path) as file:
            yield from _values(function, file, f"{storage.uri}/{path}")
    except (HudiError, pa.ArrowException):
        return  # a damaged file is reported once, with its footer


def _values(function: Function, file: pq.ParquetFile, label: str) -> Iterator[AnyArray]:
    for (values,) in parquet_columns(file, [function.column.name], label):
        yield values.cast(function.column.type)


def _beyond(results: Bounds, bounds: StoredBounds, row: int, size: int) -> BoolArray:
    """Return the results that are surely outside."""
    lower, upper = results.lower, results.upper
    if isinstance(bounds.lower, np.ndarray):
        flags = (upper < bounds.lower[row]) | (lower > bounds.upper[row])
    else:
        below = pc.fill_null(pc.less(upper, bounds.lower[row]), False)
        above = pc.fill_null(pc.greater(lower, bounds.upper[row]), False)
        flags = np.asarray(pc.or_(below, above).to_numpy(zero_copy_only=False), np.bool_)
    present: BoolArray = np.broadcast_to(flags, size) & ~np.broadcast_to(results.may_be_null, size)
    return present


def _shown_result(results: Bounds, at: int, domain: Domain) -> str:
    return shown(results.lower, at, domain)


def check_results(
    records: AuditedRecords, definition: IndexDefinition, expected: Mapping[bytes, bytes]
) -> Iterator[Finding]:
    """Compare the bounds of files with those that another program has computed.

    Args:
        records: The metadata table.
        definition: The index.
        expected: The right entries, by their keys.

    Raises:
        HudiError: The partition cannot be read.
    """
    (field,) = definition.fields
    files = records.bases
    keys = files.keys(field)
    stats = records.records.statistics(definition.name, [column_prefix(field)])
    place = np.asarray(pc.fill_null(pc.index_in(keys, stats.key), -1), np.int64)
    yield from _missing(records, definition, np.flatnonzero(place < 0))
    payloads = decode(RECORD_SCHEMA, list(expected.values()), definition.name)
    right = column_statistics(expected, payloads)
    placed = np.asarray(pc.fill_null(pc.index_in(keys, right.key), -1), np.int64)
    domain = next((_RESULTS[one] for one in right.minimum if one in _RESULTS), None)
    both = np.flatnonzero((place >= 0) & (placed >= 0))
    if domain is None:
        return
    held, due = (stored_bounds(StatisticsEntries.of(one), domain) for one in (stats, right))
    lower, upper = (taken(end, place[both]) for end in (held.lower, held.upper))
    least, greatest = (taken(end, placed[both]) for end in (due.lower, due.upper))
    beyond = less(least, lower) | less(upper, greatest)
    beyond &= held.is_decoded[place[both]] & due.is_decoded[placed[both]]
    for at in np.flatnonzero(beyond)[:MOST].tolist():
        result = f"{shown(least, at, domain)} to {shown(greatest, at, domain)}"
        path, row = files.paths[int(both[at])], int(place[both][at])
        text = f"{definition.function}({field})"
        yield _finding(records, definition, text, path, result, held, row, domain)


def expression_filter(table: AuditedTable, definition: IndexDefinition) -> FilterTruth:
    """Return what filters of a function's results hold: the results that are known exactly.

    Raises:
        HudiError: The function has no rules here.
    """
    function = Function.of(table, definition)
    if function.term.domain.kind not in _TEXTS:
        raise UnsupportedTable(f"{definition.name}: {function.text} is only evaluated by Spark")
    keys = partial(_texts, function)
    return FilterTruth(definition.name, keys, False, f"{function.text} = the results")


def _texts(function: Function, file: pq.ParquetFile, label: str) -> Iterator[AnyArray]:
    for values in _values(function, file, label):
        results = function.results(function.certain(values))
        if results is not None:
            yield _exact(results, function.term.domain)


def _exact(results: Bounds, domain: Domain) -> AnyArray:
    """Return the texts of results whose two bounds are equal; of texts only those in ASCII."""
    if domain.kind is Kind.INTEGER:
        chosen: Sequence[int] = results.lower[results.lower == results.upper].tolist()
        return pa.array([str(one).encode() for one in chosen], pa.large_binary())
    same = pc.fill_null(pc.equal(results.lower, results.upper), False)
    texts = results.lower.filter(same)
    plain = [one for one in texts.to_pylist() if one.isascii()]
    return pa.array(plain, pa.large_binary())
