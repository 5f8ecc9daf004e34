"""Evidence from partition paths: a partition's path spells the values that its rows share.

Only the paths of key generators that write a column's value unchanged are evidence. A path that was
formatted from a timestamp, or that cannot be parsed without ambiguity, gives no bounds. Neither
does a path that readers of paths take for another value than the files hold
(`spark_partition_values`).
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

from pyhudi_expr.arrays import AnyArray, Int32Array, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Kind, integer_range
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

    def have_any(self, columns: Iterable[BoundColumn]) -> bool:
        """Return whether one of the columns has bounds."""
        return any(self.bounds(column) is not None for column in columns)

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
            array: AnyArray = pa.array(parsed, type=column.domain.arrow_type)
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
