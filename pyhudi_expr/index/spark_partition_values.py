"""The values of partition columns that Hudi for Spark reads from paths instead of files.

They differ: an empty text becomes NULL, `%20` becomes a space though nothing was encoded, and `a=b`
becomes `b` if it has no column name before it. Columns whose paths a key generator formatted from
times are read from the files, unless ``hoodie.datasource.read.extract.partition.values.from.path``
is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyScalar
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    domain_of,
    float_ordinal,
    integer_range,
    unscaled,
)
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.index.partition_values import day_of, is_formatted_from_times, time_setting
from pyhudi_expr.tables.properties import TableProperties

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")


@dataclass(frozen=True)
class PathText:
    """The text of a value as a path spells it; None for NULL."""

    text: str | None


@dataclass(frozen=True)
class SparkPartitionColumns:
    """The partition columns of a table, by where Hudi for Spark takes their values from by default.

    Attributes:
        fields: All partition columns in lower case, outermost first.
        formatted: Columns whose paths are formatted from times. Their values come from the files.
        ordering: Columns that order records as well. Their values come from the files.
        as_text: Whether the formatted columns are shown as text.
        whole: Whether the whole path is the text of the column, where it is read from paths.
    """

    fields: tuple[str, ...]
    formatted: frozenset[str]
    ordering: frozenset[str]
    as_text: bool
    whole: bool

    @staticmethod
    def of(properties: TableProperties) -> SparkPartitionColumns:
        """Return the partition columns of a table with these properties."""
        fields = tuple(name.lower() for name in properties.partition_fields)
        as_text = is_formatted_from_times(properties)
        formatted = fields if as_text else ()
        if "CUSTOM" in properties.key_generator.rpartition(".")[2].upper():
            kinds = properties.partition_fields_and_kinds
            formatted = tuple(name.lower() for name, kind in kinds if kind != "SIMPLE")
        type_ = time_setting(properties, "timestamp.type") or "DATE_STRING"
        return SparkPartitionColumns(
            fields,
            frozenset(formatted),
            frozenset(map(str.lower, properties.ordering_fields)).intersection(fields),
            as_text,
            as_text and type_ != "DATE_STRING",
        )

    @property
    def from_files(self) -> frozenset[str]:
        """Return the columns whose values Hudi for Spark takes from files by default."""
        return self.formatted | self.ordering

    def texts(self, path: str) -> tuple[PathText | None, ...]:
        """Return the text that Hudi for Spark reads from a path for each field; None if unknown."""
        if self.whole or not self.fields:
            return (PathText(path),) * len(self.fields)
        segments = path.rstrip("/").split("/")
        if len(segments) == len(self.fields):
            return tuple(map(_segment_text, segments))
        first = len(f"{self.fields[0]}=")
        named = path[:first].lower() == f"{self.fields[0]}="
        if len(self.fields) == 1:
            return (PathText(path[first:] if named else path),)
        if named:
            return _slashed_texts(segments, len(self.fields))
        return (None,) * len(self.fields)


def _segment_text(segment: str) -> PathText | None:
    name, separator, value = segment.partition("=")
    if not separator:
        value = segment
    if not value or (separator and not name):
        return None  # Spark refuses to read them
    return PathText(None if value == _NULL_PARTITION else _unescaped(value))


def _unescaped(text: str) -> str:
    """Decode percent escapes as Spark does: one character for each escape, not UTF-8."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _slashed_texts(segments: Sequence[str], fields: int) -> tuple[PathText | None, ...]:
    """Split unencoded values with slashes: a segment without ``=`` belongs to the one before."""
    values: list[str] = []
    for segment in segments:
        _, separator, value = segment.partition("=")
        if separator:
            values.append(value)
        else:
            values[-1] += f"/{segment}"
    if len(values) != fields:
        return (None,) * fields
    return tuple(map(PathText, values))


class SparkPathValues:
    """Bounds of the partition values in paths, over P partitions (a `Statistics`)."""

    def __init__(self, partitions: Sequence[str], table: SparkPartitionColumns) -> None:
        """Take the paths of the partitions. Columns that Hudi may read from files get no bounds."""
        self.partitions = partitions
        self.table = table
        self._positions = {
            name: index for index, name in enumerate(table.fields) if name not in table.from_files
        }
        self._known: dict[BoundColumn, Bounds | None] = {}

    @computed_once
    def _texts(self) -> list[tuple[PathText | None, ...]]:
        """The texts of all paths, computed on first use: most requests need none."""
        return [self.table.texts(path) for path in self.partitions]

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return arrays of length P, see `pyhudi_expr.expr.evaluate.Statistics`."""
        if column not in self._known:
            self._known[column] = self._derive(column)
        return self._known[column]

    def _derive(self, column: BoundColumn) -> Bounds | None:
        position = self._positions.get(column.name.lower())
        if position is None:
            return None
        domain = column.domain
        spans = [_span(texts[position], domain) for texts in self._texts]
        may_be_value = np.array([span.may_be_value for span in spans], np.bool_)
        may_be_null = np.array([span.may_be_null for span in spans], np.bool_)
        ends = [span.lower for span in spans], [span.upper for span in spans]
        if not domain.is_ordinal:
            least, most = (pa.array(values, type=domain.arrow_type) for values in ends)
            return Bounds(least, most, may_be_value, may_be_null)
        unknown = (MIN_ORDINAL, MAX_ORDINAL)
        lower, upper = (
            np.array([other if value is None else value for value in values], np.int64)
            for values, other in zip(ends, unknown, strict=True)
        )
        return Bounds(lower, upper, may_be_value, may_be_null)


@dataclass(frozen=True)
class PathColumns:
    """The columns that Hudi for Spark shows with values of paths, and not of files.

    Attributes:
        table: The partition columns.
        types: The columns' types by their names in the schema, with their positions in `table`.
    """

    table: SparkPartitionColumns
    types: Mapping[str, tuple[int, pa.DataType]]

    @staticmethod
    def of(properties: TableProperties, schema: pa.Schema) -> PathColumns:
        """Return those of a table's schema, or of a part of it."""
        table = SparkPartitionColumns.of(properties)
        positions = {
            name: position
            for position, name in enumerate(table.fields)
            if name not in table.from_files
        }
        types = {
            field.name: (position, field.type)
            for field in schema
            if (position := positions.get(field.name.lower())) is not None
        }
        return PathColumns(table, types)

    def values(self, partition: str) -> dict[str, AnyScalar]:
        """Return what the columns show in a partition, as far as that differs from the files.

        Raises:
            UnsupportedTable: One is a time. Writers leave out its fraction in the path, or write
                what Spark reads as null.
        """
        if not self.types:
            return {}
        texts = self.table.texts(partition)
        found = {name: _shown(texts[at], type_) for name, (at, type_) in self.types.items()}
        for name, (_, type_) in self.types.items():
            if found[name] is None and pa.types.is_timestamp(type_):
                raise UnsupportedTable(
                    f"the partition {partition}: Spark takes the times of {name} from the path, by"
                    " rules that are not known here; read other columns, or ask an engine"
                )
        return {name: value for name, value in found.items() if value is not None}


def _shown(found: PathText | None, type_: pa.DataType) -> AnyScalar | None:
    """Return the value that a text is shown as; None if that is not known."""
    domain = domain_of(type_)
    if found is None or domain is None:
        return None
    span = _span(found, domain)
    if not span.may_be_value:
        return pa.scalar(None, type_)
    if span.may_be_null or span.lower is None or span.lower != span.upper:
        return None
    match domain.kind:
        case Kind.DATE:
            return pa.scalar(span.lower, pa.int32()).cast(type_)
        case Kind.INTEGER | Kind.BOOLEAN:
            return pa.scalar(span.lower).cast(type_)
        case Kind.TEXT:
            return pa.scalar(found.text, type_)
    return None


@dataclass(frozen=True)
class _Span:
    """The values between which a text may lie; None: no bound."""

    lower: Any = None
    upper: Any = None
    may_be_value: bool = True
    may_be_null: bool = True


_UNKNOWN = _Span()
_NULL = _Span(may_be_value=False)


def _exactly(value: PythonValue) -> _Span:
    return _Span(value, value, may_be_null=False)


def _span(found: PathText | None, domain: Domain) -> _Span:
    parse = _PARSERS.get(domain.kind)
    if found is None or parse is None:
        return _UNKNOWN
    return _NULL if found.text is None else parse(found.text, domain)


def is_readable(found: PathText, domain: Domain) -> bool:
    """Return whether Spark surely reads a text as a value of the domain.

    Spark reads other text as NULL for times, and fails for numbers.
    """
    if found.text is not None and domain.kind in (Kind.DATE, Kind.INSTANT, Kind.WALL_CLOCK):
        return "/" not in found.text
    return _span(found, domain) is not _UNKNOWN


def _text(text: str, domain: Domain) -> _Span:
    return _exactly(text.encode())


def _integer(text: str, domain: Domain) -> _Span:
    least, greatest = integer_range(domain.bits)
    if not re.fullmatch("[+-]?[0-9]{1,19}", text) or not least <= int(text) <= greatest:
        return _UNKNOWN
    return _exactly(int(text))


def _boolean(text: str, domain: Domain) -> _Span:
    known = {"true": 1, "false": 0}.get(text)
    return _UNKNOWN if known is None else _exactly(known)


def _float(text: str, domain: Domain) -> _Span:
    if not re.fullmatch("-?([0-9]+[.][0-9]+(E-?[0-9]+)?|Infinity)|NaN", text):
        return _UNKNOWN
    value = float(text)
    return _exactly(float_ordinal(float(np.float32(value)) if domain.bits == 32 else value))


def _decimal(text: str, domain: Domain) -> _Span:
    if not domain.is_ordinal or not re.fullmatch("-?[0-9]{1,18}([.][0-9]{1,18})?", text):
        return _UNKNOWN
    value = Decimal(text)
    exact = -int(value.as_tuple().exponent) <= domain.scale
    return _exactly(unscaled(value, domain.scale)) if exact else _UNKNOWN


_LAST_DAY = date.max.toordinal() - date(1970, 1, 1).toordinal()
_HOURS_OF_ZONES = 15


def _date(text: str, domain: Domain) -> _Span:
    """Return the span of a date. Spark reads a few digits alone as a year: they may be days."""
    day = day_of(text)
    if day is not None:
        return _exactly(day)
    if re.fullmatch("[0-9]{5,7}", text):
        return _Span(_LAST_DAY)
    return _NULL if re.fullmatch("[0-9]{8,}", text) else _UNKNOWN


def _time(text: str, domain: Domain) -> _Span:
    """Return the span of a wall clock of an unknown zone."""
    if re.fullmatch("[0-9]{8,}", text):
        return _NULL
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}([.][0-9]{1,6})?", text):
        return _UNKNOWN
    try:
        moment = datetime.fromisoformat(text[:19])
    except ValueError:
        return _UNKNOWN
    seconds = (moment - datetime(1970, 1, 1)).total_seconds()
    slack = _HOURS_OF_ZONES * 3600
    ends = (int(seconds) - slack) * domain.units, (int(seconds) + slack) * domain.units
    return _UNKNOWN if domain.units > 10**6 else _Span(*ends)


_PARSERS: dict[Kind, Callable[[str, Domain], _Span]] = {
    Kind.TEXT: _text,
    Kind.INTEGER: _integer,
    Kind.BOOLEAN: _boolean,
    Kind.FLOAT: _float,
    Kind.DECIMAL: _decimal,
    Kind.DATE: _date,
    Kind.INSTANT: _time,
    Kind.WALL_CLOCK: _time,
}
