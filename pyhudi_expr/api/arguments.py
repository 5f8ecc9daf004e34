"""Convert what users give, predicates too, to the types of the other rooms; errors say how."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone, tzinfo
from difflib import get_close_matches
from operator import index
from pathlib import Path
from reprlib import Repr
from reprlib import repr as shown
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.api import DEFAULT_ZONE
from pyhudi_expr.arrays import AnyScalar
from pyhudi_expr.errors import (
    HudiError,
    InvalidType,
    InvalidValue,
    PyHudiWarning,
    QuotedColumnWarning,
)
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence
from pyhudi_expr.expr.frontend.sql.dialects import DIALECTS, SqlDialect
from pyhudi_expr.expr.frontend.sql.plain import is_query
from pyhudi_expr.expr.nodes import Call, Case, Column, HudiExpression, Literal, children, walk
from pyhudi_expr.expr.semantics import UnknownZoneError, python_zone
from pyhudi_expr.index.opening import NO_METADATA_TABLE, NO_STATISTICS
from pyhudi_expr.index.partition_semantics import READERS, PartitionReader
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.properties import StatedBuckets, TableProperties
from pyhudi_expr.tables.storage import option_texts
from pyhudi_expr.tables.timeline import query_instant

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


Predicate: TypeAlias = str | pc.Expression | Sequence[Any] | HudiExpression
"""SQL text, a pyarrow expression, a list of filters, or a tree of `pyhudi_expr.expr.nodes`."""

_PACKAGE = str(Path(__file__).parents[1])
_KINDS = (str, pc.Expression, list, tuple, HudiExpression)
_ACCEPTED = (
    "SQL text (\"fare > 100 AND city = 'Oslo'\"), a pyarrow expression "
    '(pc.field("city") == "Oslo"), a list of filters ([("fare", ">", 100)]) or None'
)
_SHORT = Repr()
_SHORT.maxstring = 200


def checked(predicate: Predicate | None) -> Predicate | None:
    """Return a predicate that can be read more than once. Raises InvalidType."""
    if predicate is not None and not isinstance(predicate, _KINDS):
        raise InvalidType(f"predicate: expected {_ACCEPTED}, got {type(predicate).__name__}")
    if not isinstance(predicate, list | tuple):
        return predicate
    from pyhudi_expr.expr.frontend.arrow.filter_lists import held  # on use, see `Table`

    found: Predicate = held(predicate)
    return found


def text_of(predicates: Sequence[Predicate]) -> str:
    """Return predicates that are to be TRUE together as people read them."""
    texts = [" ".join(one.split()) if isinstance(one, str) else str(one) for one in predicates]
    if len(texts) < 2:
        return "".join(texts) or "all rows"
    return " AND ".join(f"({text})" for text in texts)


def warn_if_unevaluated(result: PruneResult, text: str) -> None:
    """Warn of a predicate, or a part of it, that no file was evaluated by: more files are kept."""
    reasons = [*result.unknown]
    if not reasons and not _is_evaluated(result):
        reasons = list(_notes(result))
    if not reasons:
        return
    advice = ""
    if {NO_METADATA_TABLE, NO_STATISTICS}.intersection(reasons):
        advice = "; `pyhudi index create` builds column_stats"
    warnings.warn(
        f"files were not evaluated by the predicate {_SHORT.repr(text)}, or not by all of it, so "
        f"more are read (the rows are right): {'; '.join(reasons)}{advice}",
        PyHudiWarning,
        stacklevel=_depth_of_caller(),
    )


def warn_of_query(predicate: Predicate | None) -> None:
    """Warn of a whole query: its columns, LIMIT and the like are not carried out."""
    if isinstance(predicate, str) and is_query(predicate):
        warnings.warn(
            "of the query only the WHERE is used: give columns=, order_by= and limit= to scan",
            PyHudiWarning,
            stacklevel=_depth_of_caller(),
        )


def warn_of_quoted_columns(tree: HudiExpression, schema: pa.Schema) -> None:
    """Warn of a column's name in quotes that make it a text, compared with other constants."""
    for found in _quoted_columns(tree, schema):
        warnings.warn(found, QuotedColumnWarning, stacklevel=_depth_of_caller())


def _quoted_columns(tree: HudiExpression, schema: pa.Schema) -> Iterator[str]:
    """Return a message for each column's name that is a text, compared with other constants."""
    names = {field.name.lower() for field in schema}
    for node in walk(tree):
        if isinstance(node, Column | Literal | Call | Case):
            continue
        first, *others = [*children(node), None]
        is_constant = {type(one) for one in others} <= {Literal, type(None)}
        if not isinstance(first, Literal) or not is_constant:
            continue
        if isinstance(first.value, str) and first.value.lower() in names:
            yield (
                f"{first.value!r} in quotes is a text in this SQL, not the column; "
                f"write {first.value} or `{first.value}`"
            )


def _notes(result: PruneResult) -> Iterator[str]:
    """Return why no index evaluates the predicate, without what follows from another reason."""
    missing = [note for note in (NO_METADATA_TABLE, NO_STATISTICS) if note in result.notes]
    yield from missing[:1]
    yield from (note for note in result.notes if note not in missing)
    if not missing:
        yield "no index has its columns"


def _is_evaluated(result: PruneResult) -> bool:
    """Return whether an index knows at least one column of the predicate, of at least one file."""
    needed = result.columns
    known = (_known(source.evidence, column) for source in result.evidence for column in needed)
    return not needed or result.files_kept < result.files_total or any(known)


def _known(evidence: Evidence, column: BoundColumn) -> bool:
    if not isinstance(evidence, StatisticsEvidence):
        return True  # an index of keys or values, which is used only if it has the column
    flags = evidence.known(column)
    return flags is not None and bool(np.any(flags))


def _depth_of_caller() -> int:
    """Return how many frames above the caller the first one outside of this package is."""
    depth, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth + 1
