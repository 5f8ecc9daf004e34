"""Convert what users give to the types of the other rooms; errors say what is accepted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timezone, tzinfo
from difflib import get_close_matches
from operator import index
from reprlib import repr as shown
from typing import TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa

from pyhudi_expr.api import DEFAULT_ZONE
from pyhudi_expr.arrays import AnyScalar
from pyhudi_expr.errors import HudiError, InvalidType, InvalidValue
from pyhudi_expr.expr.frontend.sql.dialects import DIALECTS, SqlDialect
from pyhudi_expr.expr.zones import UnknownZoneError, python_zone
from pyhudi_expr.index.partition_semantics import READERS, PartitionReader
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.properties import StatedBuckets, TableProperties
from pyhudi_expr.tables.storage import option_texts
from pyhudi_expr.tables.timeline.timeline import query_instant

PathLike: TypeAlias = str | os.PathLike[str]
"""A path or URI of a table."""

Instant: TypeAlias = str | date | AnyScalar | np.datetime64
"""A moment: text, a `datetime.date` or a `datetime.datetime`, or a value of Arrow or numpy."""

View: TypeAlias = str | TableView
"""The files of a table that are read: "snapshot" or "read_optimized"."""

Dialect: TypeAlias = str | SqlDialect
"""The SQL in which a predicate is written: "hive", "spark", "trino" or "presto"."""

Zone: TypeAlias = str | tzinfo
"""An IANA time zone: a name, or a `zoneinfo.ZoneInfo`."""

VIEWS: Mapping[str, TableView] = {view.name.lower(): view for view in TableView}
_LOST_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/[^/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_Value = TypeVar("_Value")


def partition_reader(reader: str | None, dialect: SqlDialect) -> PartitionReader:
    """Return where a reader takes partition values from; None: the engine of the dialect."""
    if reader is None:
        return READERS.get(dialect.name, PartitionReader.ANY)
    return _named("reader", reader, READERS)


def location(path: PathLike) -> str:
    """Return a URI as given, and a path as an absolute one; `~` is the home directory."""
    if not isinstance(path, str | os.PathLike):
        raise _wrong_type("path", path, "a str or a path-like object")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise _wrong_type("path", text, "a str or a path-like object")
    if not text.strip():
        raise InvalidValue("path: expected the path or URI of a table, got an empty text")
    if not isinstance(path, str) and _LOST_SLASH.match(text):
        raise InvalidValue(f"path: {text!r} is a URI that a Path has shortened; give it as a str")
    if _SCHEME.match(text):
        return _encoded_path(text) or text
    return os.path.abspath(os.path.expanduser(text))


def _encoded_path(uri: str) -> str | None:
    """Return the path of a file URI as `Path.as_uri` writes it, if only that one exists.

    Hudi and Hadoop do not encode theirs: there `%20` is three characters.
    """
    parts = urlsplit(uri)
    if parts.scheme != "file" or "%" not in parts.path or os.path.exists(parts.path):
        return None
    path = unquote(parts.path)
    return path if os.path.exists(path) else None


def storage_texts(options: Mapping[str, object] | None) -> dict[str, str] | None:
    """Return storage options with texts as values. Values may be secret: no error shows one."""
    if options is None:
        return None
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        raise InvalidType("storage_options: expected a dict of names and texts")
    try:
        return option_texts(options)
    except HudiError as error:
        raise InvalidType(f"storage_options: {error}") from None


def stated_buckets(properties: Mapping[str, str] | None) -> StatedBuckets | None:
    """Return what a catalog's properties state of a table's buckets."""
    if properties is None:
        return None
    if not isinstance(properties, Mapping) or not all(
        isinstance(text, str) for pair in properties.items() for text in pair
    ):
        raise InvalidType("catalog_properties: expected a dict of names and texts")
    return StatedBuckets.of(properties)


def table_view(view: View) -> TableView:
    """Return the view of a name."""
    if isinstance(view, TableView):
        return view
    return _named("view", view, VIEWS)


def sql_dialect(dialect: Dialect) -> SqlDialect:
    """Return the dialect of a name."""
    return dialect if isinstance(dialect, SqlDialect) else _named("dialect", dialect, DIALECTS)


def zone_name(zone: Zone | None) -> str:
    """Return the name of an IANA time zone; None is the default one."""
    if zone is None:
        return DEFAULT_ZONE
    if zone is timezone.utc:
        return "UTC"
    name = getattr(zone, "key", zone)
    if not isinstance(name, str):
        raise _wrong_type("zone", zone, "the name of an IANA time zone or a zoneinfo.ZoneInfo")
    try:
        python_zone(name)
    except UnknownZoneError:
        raise InvalidValue(f"zone: {name!r} is not an IANA time zone; Europe/Oslo is one") from None
    return name


def instant_text(
    argument: str, given: Instant | None, zone: str, properties: TableProperties
) -> str | None:
    """Return an instant in the digits of a table's timeline.

    The timeline is written in UTC or in the writer's zone (`hoodie.table.timeline.timezone`). A
    time with a zone is converted to UTC, or to `zone` as that of the writer. A time without one is
    compared with the timeline's digits as it is.
    """
    if given is None:
        return None
    moment = _python_time(argument, given)
    if isinstance(moment, str):
        moment = _parsed_time(argument, moment.strip())
    if isinstance(moment, str):
        return moment
    if not isinstance(moment, date):
        raise _wrong_type(argument, moment, "text, a datetime.date or a datetime.datetime")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(_zone_of_timeline(zone, properties))
    digits = f"{moment:%Y%m%d}".zfill(8)
    if not isinstance(moment, datetime):
        return f"{digits}000000000"
    return f"{digits}{moment:%H%M%S}{moment.microsecond // 1000:03d}"


def column_names(columns: Iterable[str] | None) -> Sequence[str] | None:
    """Check the names of columns; None for all."""
    if columns is None:
        return None
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise _wrong_type("columns", columns, "a list of column names")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise _wrong_type("columns", name, "a list of column names", " in it")
    if not names:
        raise InvalidValue("columns: the list is empty; None reads all columns")
    return names


def shown_columns(columns: Iterable[str] | None, meta: bool, schema: pa.Schema) -> Sequence[str]:
    """Return the columns of rows: those that are asked for, or the table's own; with Hudi's first.

    Args:
        columns: The columns that are asked for; None for the table's own.
        meta: Whether Hudi's columns (`_hoodie_...`) are asked for as well.
        schema: The table's schema.
    """
    if not isinstance(meta, bool):
        raise _wrong_type("meta", meta, "a bool")
    asked, hudis = column_names(columns), [name for name in schema.names if name in META_COLUMNS]
    own = [name for name in schema.names if name not in hudis]
    return (*(hudis if meta else ()), *(own if asked is None else asked))


def row_limit(limit: int | None) -> int | None:
    """Check a maximum number of rows; None for all."""
    if limit is None:
        return None
    return whole_number("limit", limit, "an int or None", "a number of rows")


def whole_number(
    argument: str, value: int, types: str = "an int", values: str = "0 or more"
) -> int:
    """Check a number that is not negative. Errors say what types and values are accepted."""
    try:
        number = index(_not_bool(value))
    except TypeError:
        raise _wrong_type(argument, value, types) from None
    if number < 0:
        raise InvalidValue(f"{argument}: expected {values}, got {number}")
    return number


def check_callable(argument: str, function: object) -> None:
    """Check a function that may be None."""
    if function is not None and not callable(function):
        raise _wrong_type(argument, function, "a function or None")


def _not_bool(number: int) -> int:
    if isinstance(number, bool):
        raise TypeError(number)
    return number


def _named(argument: str, name: object, known: Mapping[str, _Value]) -> _Value:
    spelled = ""
    if isinstance(name, str):
        spelled = name.strip().lower().replace("-", "_").replace(" ", "_")
    if spelled not in known:
        accepted = " or ".join(map(repr, known))
        if not isinstance(name, str):
            raise _wrong_type(argument, name, accepted)
        near = get_close_matches(spelled, known, 1)
        hint = f"; is it {near[0]!r}?" if near else ""
        raise InvalidValue(f"{argument}: expected {accepted}, got {shown(name)}{hint}")
    return known[spelled]


def _python_time(argument: str, value: Instant) -> str | date:
    """Return a value of Arrow, numpy or pandas as one of Python. Raises InvalidValue for NULL."""
    found = value.as_py() if isinstance(value, pa.Scalar) else value
    if isinstance(found, np.datetime64):
        found = found.astype("datetime64[us]").item()
    if found is None or (isinstance(found, datetime) and found != found):  # NaT of pandas
        raise InvalidValue(f"{argument}: expected an instant, got NULL")
    return found


def _parsed_time(argument: str, text: str) -> str | datetime:
    """Return digits as they are, and a date or a time of ISO 8601 as a datetime."""
    if text.isdigit():
        return query_instant(text) or text
    try:
        return datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError:
        raise InvalidValue(
            f"{argument}: {shown(text)} is not an instant: write '2026-01-31', "
            "'2026-01-31 23:59:59' or the timeline's digits, 20260131235959000, or give a datetime"
        ) from None


def _zone_of_timeline(zone: str, properties: TableProperties) -> tzinfo:
    return timezone.utc if properties.timeline_zone == "UTC" else python_zone(zone)


def _wrong_type(argument: str, value: object, accepted: str, where: str = "") -> InvalidType:
    return InvalidType(f"{argument}: expected {accepted}, got {type(value).__name__}{where}")
