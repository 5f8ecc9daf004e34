"""Evidence from partition paths: a partition's path spells the values that its rows share.

A path of a key generator that writes a column's value unchanged is that value. One that cannot be
parsed without ambiguity gives no bounds. Neither does a path that readers of paths take for another
value than the files hold (`spark_partition_values`).

A path that a key generator has formatted from a number of time units since 1970 gives a range
(`FormattedPaths`), as far as the table's properties prove how. Hudi (1.0.2 and 1.2.0 were tried)
refuses writes whose settings differ from those in the properties, and takes all others: so the
format, the unit and the zone are known only if the properties have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    Int32Array,
    Int64Array,
    arrow_list,
    numpy_flags,
    numpy_numbers,
    string_list,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Values,
    integer_range,
    is_known,
)
from pyhudi_expr.expr.evaluate import DerivedStatistics, Statistics
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.properties import TableProperties

_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: Path segments for a null or an empty value, of today's and of early Hudi versions.
_DEFAULT_VALUES = frozenset({"__HIVE_DEFAULT_PARTITION__", "default"})
#: Key generators that write a column's value unchanged; types (version 8) and class names.
_IDENTITY_GENERATORS = frozenset(
    {
        *("SIMPLE", "COMPLEX", "CUSTOM", "SIMPLE_AVRO", "COMPLEX_AVRO", "CUSTOM_AVRO"),
        *("SIMPLEAVRO", "COMPLEXAVRO", "CUSTOMAVRO"),
    }
)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_ENCODED_OTHERS = re.compile("%[89a-fA-F][0-9a-fA-F]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True)
class PathLayout:
    """How a table spells partition values in its paths.

    Attributes:
        fields: The partition columns, outermost first.
        hive_style: Whether segments are ``column=value``.
        encoded: Whether values are percent-encoded.
    """

    fields: tuple[str, ...]
    hive_style: bool
    encoded: bool


def path_layout(properties: TableProperties) -> PathLayout:
    """Return how a table spells values. Fields whose path is not their value have an empty name."""
    generator = properties.key_generator.rpartition(".")[2].upper().removesuffix("KEYGENERATOR")
    trusted_kinds = ("SIMPLE",) if "CUSTOM" in generator else ("SIMPLE", "")
    fields = tuple(
        name if generator in _IDENTITY_GENERATORS and kind in trusted_kinds else ""
        for name, kind in properties.partition_fields_and_kinds
    )
    return PathLayout(fields, properties.hive_style_partitioning, properties.url_encoded_partitions)


class PartitionValues:
    """Bounds of the partition columns over P partitions (a `Statistics`)."""

    def __init__(self, partitions: Sequence[str], layout: PathLayout) -> None:
        self._partitions, self._layout = partitions, layout
        self._positions = {name.lower(): index for index, name in enumerate(layout.fields) if name}
        self._known: dict[BoundColumn, Bounds | None] = {}

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return arrays of length P, see `pyhudi_expr.expr.evaluate.Statistics`."""
        if column.name.lower() not in self._positions:
            return None
        if column not in self._known:
            self._known[column] = self._derive(column)
        return self._known[column]

    def has_all(self, column: BoundColumn) -> bool:
        """Return whether each partition has a known value of the column."""
        found = self.bounds(column)
        return found is not None and bool(np.all(is_known(found)))

    @computed_once
    def _values(self) -> list[list[str] | None]:
        """The values of each partition. Few questions need them, and there may be many."""
        return [_values(path, self._layout) for path in self._partitions]

    def _derive(self, column: BoundColumn) -> Bounds | None:
        position = self._positions[column.name.lower()]
        parse = _PARSERS.get(column.domain.kind)
        if parse is None:
            return None
        parsed = [
            None
            if values is None or values[position] in _DEFAULT_VALUES
            else parse(values[position])
            for values in self._values
        ]
        known = np.array([value is not None for value in parsed], dtype=np.bool_)
        if not column.domain.is_ordinal:
            array: AnyArray = arrow_list(parsed, column.domain.arrow_type)
            return Bounds(array, array, True, ~known)
        if column.domain.kind is Kind.INTEGER:
            least, greatest = integer_range(column.domain.bits)
            known &= np.array([v is not None and least <= v <= greatest for v in parsed])
        values = np.array([v if k else 0 for v, k in zip(parsed, known, strict=True)], np.int64)
        return Bounds(
            np.where(known, values, np.int64(MIN_ORDINAL)),
            np.where(known, values, np.int64(MAX_ORDINAL)),
            True,
            ~known,
        )


_SETTINGS = ("hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased.")
_TIMESTAMP_GENERATORS = frozenset(
    {"TIMESTAMP", "TIMESTAMP_AVRO", "TIMESTAMPBASED", "TIMESTAMPBASEDAVRO"}
)
_PARSERS_OF_TIMES = (
    "hoodie.keygen.datetime.parser.class",
    "hoodie.deltastreamer.keygen.datetime.parser.class",
)
_KNOWN_PARSERS = frozenset({None, "org.apache.hudi.keygen.parser.HoodieDateTimeParser"})
_NANOS = {
    "NANOSECONDS": 1,
    "MICROSECONDS": 10**3,
    "MILLISECONDS": 10**6,
    "SECONDS": 10**9,
    "MINUTES": 60 * 10**9,
    "HOURS": 3600 * 10**9,
    "DAYS": 86400 * 10**9,
}
_UNITS = {
    "EPOCHMICROSECONDS": "MICROSECONDS",
    "EPOCHMILLISECONDS": "MILLISECONDS",
    "UNIX_TIMESTAMP": "SECONDS",
}
#: The letters of a format that are understood, with the digits that they stand for.
_DIGITS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2}
_LETTERS = re.compile("([a-zA-Z])\\1*|'")
_UTC = frozenset({"UTC", "GMT", "Etc/UTC", "Etc/GMT"})
_OFFSET = re.compile("GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_MILLISECOND = 10**6  # nanoseconds
_SECOND = 10**9
_MOST_HOURS_OF_ZONES = 18
#: Calendars and zones have differed before.
_FIRST_YEAR = 1900


def is_formatted_from_times(properties: TableProperties) -> bool:
    """Return whether the key generator formats the path from a column of times."""
    generator = properties.key_generator.rpartition(".")[2].upper().removesuffix("KEYGENERATOR")
    return generator in _TIMESTAMP_GENERATORS


def time_setting(properties: TableProperties, name: str) -> str | None:
    """Return how the key generator formats times; None if the properties do not say."""
    return next(filter(None, (properties.raw.get(prefix + name) for prefix in _SETTINGS)), None)


@dataclass(frozen=True)
class FormattedPaths:
    """Paths that a TimestampBasedKeyGenerator formats from a number of time units since 1970.

    Attributes:
        column: The column, in lower case.
        path: The paths of the format; a group for each of its numbers.
        unit: The column's unit of time, in nanoseconds.
        zone: Seconds by which the format's wall clock may be ahead of UTC: at least, at most.
    """

    column: str
    path: re.Pattern[str]
    unit: int
    zone: tuple[int, int]

    @staticmethod
    def of(properties: TableProperties) -> FormattedPaths | None:
        """Return how paths are formatted; None if that is not proved, or not understood."""
        kind = time_setting(properties, "timestamp.type") or ""
        unit = _UNITS.get(kind)
        if kind == "SCALAR":
            unit = (time_setting(properties, "timestamp.scalar.time.unit") or "").upper()
        format_ = time_setting(properties, "output.dateformat") or ""
        path = _pattern(format_)
        fields = properties.partition_fields
        if unit not in _NANOS or path is None or not is_formatted_from_times(properties):
            return None
        if len(fields) != 1 or not {*map(properties.raw.get, _PARSERS_OF_TIMES)} <= _KNOWN_PARSERS:
            return None
        name = fields[0]
        whole = f"(?i:{re.escape(name)})={path}" if properties.hive_style_partitioning else path
        zone = _offsets(time_setting(properties, "timezone"))
        return FormattedPaths(name.lower(), re.compile(whole), _NANOS[unit], zone)

    def ranges(self, paths: Sequence[str]) -> tuple[Int64Array, Int64Array]:
        """Return for each path the least and the greatest number of units that it may stand for."""
        start, end = self._spans(arrow_list([unquote(path) for path in paths], pa.string()))
        least, most = self.zone
        start, end = start - most, end - least
        if self.unit >= _SECOND:
            seconds = self.unit // _SECOND
            lower, upper, longest = -(-start // seconds), -(-end // seconds) - 1, MAX_ORDINAL
        else:
            units = _SECOND // self.unit
            lower, upper, longest = start * units, end * units - 1, MAX_ORDINAL // units
            lower -= max(0, _MILLISECOND // self.unit - 1)  # Java cuts them off, towards 1970
        is_known = (start < end) & (np.maximum(np.abs(start), np.abs(end)) < longest)
        return np.where(is_known, lower, MIN_ORDINAL), np.where(is_known, upper, MAX_ORDINAL)

    def _spans(self, paths: AnyArray) -> tuple[Int64Array, Int64Array]:
        """Return the seconds since 1970 at which each wall clock begins and ends; else the same."""
        parts = pc.extract_regex(paths, f"^{self.path.pattern}$")
        names = [name for name in _DIGITS if name in self.path.groupindex]
        numbers = [numpy_numbers(pc.struct_field(parts, name).cast(pa.int64())) for name in names]
        moment = (numbers[0] - 1970).astype("datetime64[Y]")
        is_moment = numpy_flags(parts.is_valid()) & (numbers[0] >= _FIRST_YEAR)
        for unit, first, number in zip("MDhms", (1, 1, 0, 0, 0), numbers[1:], strict=False):
            finer = moment.astype(f"datetime64[{unit}]") + (number - first)
            is_moment &= finer.astype(moment.dtype) == moment
            moment = finer
        start, end = (one.astype("datetime64[s]").astype(np.int64) for one in (moment, moment + 1))
        return start, np.where(is_moment, end, start)


def _pattern(format_: str) -> str | None:
    """Return the texts of a format, with named groups; None if it has other letters."""
    letters = [found[0] for found in _LETTERS.finditer(format_)]
    if not letters or sorted(letters) != sorted([*_DIGITS][: len(letters)]):
        return None
    return _LETTERS.sub(
        lambda found: f"(?P<{found[0]}>[0-9]{{{_DIGITS[found[0]]}}})", re.escape(format_)
    )


def _offsets(zone: str | None) -> tuple[int, int]:
    """Return the seconds by which a zone's wall clock is ahead of UTC, at least and at most."""
    if zone in _UTC:
        return 0, 0
    found = _OFFSET.fullmatch(zone or "")
    if found is None or int(found[2]) > _MOST_HOURS_OF_ZONES:
        return -_MOST_HOURS_OF_ZONES * 3600, _MOST_HOURS_OF_ZONES * 3600
    seconds = int(f"{found[1]}1") * (int(found[2]) * 3600 + int(found[3] or 0) * 60)
    return seconds, seconds


class PartitionRanges:
    """Bounds of all columns that paths say something of, over P partitions (a `Statistics`).

    A column has its values, or the range of times that are formatted as the path. Null may be in
    any partition then: Hudi formats 1 in its place.
    """

    def __init__(
        self, values: PartitionValues, partitions: AnyArray, formatted: FormattedPaths | None
    ) -> None:
        self._values, self._partitions, self._formatted = values, partitions, formatted
        self._known: dict[BoundColumn, Bounds] = {}

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return arrays of length P, see `pyhudi_expr.expr.evaluate.Statistics`."""
        formatted = self._formatted
        if formatted is None or formatted.column != column.name.lower():
            return self._values.bounds(column)
        if column not in self._known and _is_stored_in(formatted.unit, column.domain):
            ranges = formatted.ranges(string_list(self._partitions))
            self._known[column] = Bounds(*ranges, True, True)
        return self._known.get(column)

    def have_any(self, columns: Iterable[BoundColumn]) -> bool:
        """Return whether one of the columns has bounds."""
        return any(self.bounds(column) is not None for column in columns)


def _is_stored_in(unit: int, domain: Domain) -> bool:
    """Return whether a column's ordinals are the numbers that the key generator formats."""
    match domain.kind:
        case Kind.INTEGER | Kind.DATE:
            return True
        case Kind.INSTANT:
            return domain.units * unit == _SECOND
    return False


class BoundsOfPartition(DerivedStatistics):
    """For each file the bounds of its partition (a `Statistics` over files)."""

    def __init__(
        self, partitions: Statistics, listing: FileListing, files: Int64Array | None = None
    ) -> None:
        """Take the bounds of a listing's partitions, and some of its files, or all (None)."""
        self._partitions = partitions
        self._listing = listing
        self._files = files

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        known = self._partitions.bounds(column)
        if known is None:
            return None
        return Bounds(
            self._spread(known.lower),
            self._spread(known.upper),
            self._spread(known.may_be_value),
            self._spread(known.may_be_null),
        )

    def at(self, containers: Int64Array) -> BoundsOfPartition:
        """See `DerivedStatistics`."""
        files = containers if self._files is None else self._files[containers]
        return BoundsOfPartition(self._partitions, self._listing, files)

    @computed_once
    def _position(self) -> Int32Array:
        """The partition of each file; few questions need it, and there may be many files."""
        listing = self._listing
        return listing.file_partition if self._files is None else listing.partitions_of(self._files)

    def _spread(self, values: Values) -> Values:
        if isinstance(values, np.ndarray):
            return values[self._position]
        return values.take(self._position) if isinstance(values, pa.Array) else values


def _values(path: str, layout: PathLayout) -> list[str] | None:
    """Return the path's values, outermost first; None if it does not fit the layout."""
    segments = path.split("/")
    if len(segments) != len(layout.fields):
        return None
    values = []
    for name, segment in zip(layout.fields, segments, strict=True):
        value = segment
        if layout.hive_style:
            prefix, separator, value = segment.partition("=")
            if not separator or (name and prefix.lower() != name.lower()):
                return None
        # A path may be encoded although the table does not say so. Then its text is
        # not the value, and a percent sign gives it away.
        if not layout.encoded and "%" in value:
            return None
        # Spark takes any text before the equals sign for the column's name.
        if not layout.hive_style and "=" in value:
            return None
        # Hudi encodes ASCII characters only; readers decode others differently.
        if layout.encoded and _ENCODED_OTHERS.search(value):
            return None
        values.append(value)
    return [unquote(value) for value in values] if layout.encoded else values


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) and text != "-0" else None


def _boolean(text: str) -> int | None:
    return {"true": 1, "false": 0}.get(text)


def day_of(text: str) -> int | None:
    """Return the days since 1970 of a date as Hudi and Spark write it; None for other text."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def _text(text: str) -> bytes | None:
    return text.encode() if text else None


_PARSERS: dict[Kind, Callable[[str], Any]] = {
    Kind.INTEGER: _integer,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: day_of,
    Kind.TEXT: _text,
}
