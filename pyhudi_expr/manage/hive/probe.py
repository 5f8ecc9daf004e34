"""Queries that must be pruned: a predicate that excludes files, and splits in a container."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import Column, HudiExpression, IsNull, Not
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.hive.guards import Finding, Verdict
from pyhudi_expr.manage.hive.metastore_table import quote_identifier, quote_string
from pyhudi_expr.manage.hive.registration import Registration
from pyhudi_expr.manage.hive.session import HiveSession, QueryError
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable

_PLAIN = re.compile(r"[A-Za-z0-9 ._:/@+-]{1,200}")


@dataclass(frozen=True)
class Probe:
    """A predicate (Hive's SQL), and the number of files that it keeps."""

    predicate: str
    kept: int
    files: int


def find_probe(table: HudiTable, without: Collection[str] = ()) -> Probe | None:
    """Return a condition "column <= its minimum" that excludes a file; None if there is none.

    Args:
        table: The table.
        without: Columns, in lower case, that are none of Hive's filter: Hive itself excludes their
            partitions.

    Raises:
        HudiError: The table cannot be read.
    """
    # A service reads footers in the background, so these may come too late for its answer.
    pruner = Pruner(PruneOptions(footer_seconds=0))
    for predicate in _predicates(pruner, table, without):
        result = pruner.prune(table.base_path, _request(parse_predicate(predicate)))
        if result.files_kept < result.files_total:
            return Probe(predicate, result.files_kept, result.files_total)
    return None


def _request(predicate: HudiExpression) -> PruneRequest:
    return PruneRequest(predicate, reader=PartitionReader.ENGINE)


def _predicates(pruner: Pruner, table: HudiTable, without: Collection[str]) -> Iterator[str]:
    for field in table.schema():
        simple = pa.types.is_string(field.type) or pa.types.is_integer(field.type)
        if not simple or field.name in META_COLUMNS or field.name.lower() in without:
            continue
        request = _request(Not(IsNull(Column((field.name,)))))
        result = pruner.prune(table.base_path, request)
        for column in columns(result.predicate).values():
            for source in result.evidence:
                found = source.evidence
                known = found.bounds(column) if isinstance(found, StatisticsEvidence) else None
                least = None if known is None else _least(known)
                if least is not None:
                    yield f"{quote_identifier(field.name)} <= {least}"


def _least(bounds: Bounds) -> str | None:
    """Return the least of all lower bounds, as SQL; None if unknown, or not expressible."""
    if isinstance(bounds.lower, np.ndarray):
        known = bounds.lower[(bounds.lower > MIN_ORDINAL) & (bounds.lower < MAX_ORDINAL)]
        return str(known.min()) if len(known) else None
    if not isinstance(bounds.lower, pa.Array):
        return None
    least = pc.min(bounds.lower).as_py()
    text = least.decode(errors="replace") if isinstance(least, bytes) else least
    # A bound may be truncated within a character; and quotes are escaped in several ways.
    return f"'{text}'" if isinstance(text, str) and _PLAIN.fullmatch(text) else None


_JUDGED = ("PRUNED", "NOTHING_SKIPPED")
_JOB = MappingProxyType(
    {
        # The function is called in a task, whose split says what came of the scan.
        "hive.fetch.task.conversion": "none",
        "hive.vectorized.execution.enabled": "false",
    }
)
_REMEDY = (
    "the log of the container that made the splits (yarn logs) says why; the service has to listen"
    " where every node reaches it, and hudi.pruning.service.addresses to name that"
)


def check_splits(
    session: HiveSession,
    target: Registration,
    probe: Probe,
    engine: str,
    function: str,
    diagnosis: Mapping[str, Any],
) -> Iterator[Finding]:
    """Run a query that must be pruned on an engine, and report what its tasks have seen.

    Args:
        session: A session, whose settings change.
        target: The table's registration.
        probe: The query's condition.
        engine: tez or mr.
        function: The name of the function io.pyhudi.hive.HudiDiagnosis in the session.
        diagnosis: What this function returns in HiveServer2.
    """
    link = f"splits, by {engine}"
    session.set({**_JOB, "hive.execution.engine": engine})
    settings = {name: text for name, text in diagnosis["settings"].items() if text}
    given = {**settings, "location": target.location}
    arguments = ", ".join(quote_string(f"{name}={text}") for name, text in given.items())
    query = f"SELECT {function}({arguments}) FROM {target.name} WHERE {probe.predicate} LIMIT 1"
    try:
        rows = session.run(query)
    except QueryError as error:
        yield Finding(link, Verdict.BROKEN, str(error), error.remedy or "see the job's log")
        return
    if not rows:
        message = f"no row of WHERE {probe.predicate}, so that no task could report"
        yield Finding(link, Verdict.SKIPPED, message)
        return
    seen: Mapping[str, Any] = json.loads(rows[0][0])
    yield _scanned(link, seen)
    yield _zones(engine, diagnosis["zone"], seen["zone"])
    if engine == "tez" and seen.get("container"):
        yield _reached(seen)


def _scanned(link: str, seen: Mapping[str, Any]) -> Finding:
    scan = seen.get("scan")
    if scan is None:
        message = "several tasks read the table, and the one with the row knows of no pruning"
        return Finding(link, Verdict.SKIPPED, message)
    if str(scan).startswith(_JUDGED):
        return Finding(link, Verdict.GOOD, str(scan))
    return Finding(link, Verdict.BROKEN, str(scan), _REMEDY)


def _zones(engine: str, own: str, of_tasks: str) -> Finding:
    """Return whether instants are read in the zone that HiveServer2 expects."""
    link = f"time zone, by {engine}"
    if own == of_tasks:
        return Finding(link, Verdict.GOOD, f"{own}, in HiveServer2 and in tasks")
    message = (
        f"HiveServer2 reads instants in {own}, a task in {of_tasks}: rows differ between the two,"
        " and pruning may expect the wrong ones"
    )
    remedy = (
        "set -Duser.timezone in the options of the tasks (hive.tez.java.opts) and HiveServer2's"
    )
    return Finding(link, Verdict.BROKEN, message, remedy)


def _reached(seen: Mapping[str, Any]) -> Finding:
    """Return what a container found at the services' addresses, with the job's credentials."""
    link = "service, from a container"
    shown = []
    problems = False
    for one in seen["services"]:
        problems |= "problem" in one
        said = one.get("problem") or f"version {one['version']}, {one['millis']} ms"
        shown.append(f"{one['address']}: {said}")
    message = f"{seen['container']}: {'; '.join(shown)}"
    return Finding(link, Verdict.BROKEN if problems else Verdict.GOOD, message, _REMEDY * problems)
