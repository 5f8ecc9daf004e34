"""Check pruning where an engine makes a query's splits: in a container of a cluster, mostly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pyhudi_expr.manage.hive.findings import Finding, Verdict
from pyhudi_expr.manage.hive.metastore_table import quote_string
from pyhudi_expr.manage.hive.probe import Probe
from pyhudi_expr.manage.hive.registration import Registration
from pyhudi_expr.manage.hive.session import HiveSession, QueryError

ENGINES = ("tez", "mr")
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
