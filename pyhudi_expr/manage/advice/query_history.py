"""Read predicates from query logs: the pruning service's own, and Hive's session history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.advice.sql_queries import ObservedQueries, ObservedQuery, read_queries

_STARTED = re.compile(r'^QueryStart .*?QUERY_STRING="(.*?)"(?= \w+="|\s*$)', re.MULTILINE)
_READS = re.compile(r"\bselect\b", re.IGNORECASE)


def merge_queries(parts: Iterable[ObservedQueries]) -> ObservedQueries:
    """Concatenate queries."""
    every = list(parts)
    queries = tuple(each for part in every for each in part.queries)
    return ObservedQueries(queries, tuple(note for part in every for note in part.notes))


def read_query_log(text: str, base_path: str) -> ObservedQueries:
    """Read the predicates on a table from a query log (`service.query_log` has the format).

    Lines about other tables are skipped. Lines that cannot be read become notes.
    """
    # On use: Thrift comes with an extra that SQL and Hive's history do not need.
    from pyhudi_expr.protocol.conversion.texts import read_filter

    queries: list[ObservedQuery] = []
    notes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            if _place(entry["table"]) != _place(base_path):
                continue
            predicate = read_filter(entry["predicate"])
        except (ValueError, KeyError, TypeError) as error:
            notes.append(f"line {number} of the query log cannot be read: {error}")
            continue
        queries.append(ObservedQuery(f"line {number} of the query log", predicate))
    return ObservedQueries(tuple(queries), tuple(notes))


def read_hive_history(text: str, table: str | None) -> ObservedQueries:
    """Read the conditions on a table from a file of Hive's session history.

    The history is written with `hive.session.history.enabled`. Statements that read nothing are
    skipped. Statements that cannot be parsed become notes.

    Args:
        text: The contents of the file.
        table: The name of the table in Hive.
    """
    parts = []
    for statement in _STARTED.findall(text):
        if not _READS.search(statement):
            continue
        try:
            parts.append(read_queries(statement, "hive", table))
        except HudiError as error:
            parts.append(ObservedQueries((), (str(error),)))
    return merge_queries(parts)


def history_files(path: Path) -> Iterator[Path]:
    """Return the file, or the files of a directory: Hive writes one for each session."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    else:
        yield path


def _place(table: str) -> str:
    """Return a base path in one form: Hive writes file:/warehouse/trips."""
    parts = urlsplit(table)
    where = parts.path.rstrip("/")
    return where if parts.scheme in ("", "file") else f"{parts.scheme}://{parts.netloc}{where}"
