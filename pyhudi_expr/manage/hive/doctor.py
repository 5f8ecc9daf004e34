"""Check whether a table's queries are pruned in a HiveServer2, link by link.

A finding that is not a success says how to fix it. Links behind a broken one are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.status import State, checked_statuses
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.adoption import is_of_sync, is_ours, partition_formats
from pyhudi_expr.manage.hive.guards import Finding, Verdict, guarded
from pyhudi_expr.manage.hive.metastore_table import (
    INPUT_FORMATS,
    MetastoreTable,
    metastore_table,
    quote_identifier,
    quote_string,
    same_place,
)
from pyhudi_expr.manage.hive.probe import Probe, check_splits, find_probe
from pyhudi_expr.manage.hive.registration import Registration, mismatch
from pyhudi_expr.manage.hive.session import (
    ConnectionFailed,
    HiveSession,
    QueryError,
    jar_to_add,
    open_session,
)
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.tables.hudi_table import HudiTable

DIAGNOSIS = "io.pyhudi.hive.HudiDiagnosis"
EXPLAIN_HOOK = "io.pyhudi.hive.HudiExplainHook"
_FUNCTION = "pyhudi_hudi_diagnosis"
#: A service that was just started reads the table first.
_PROBE_MILLIS = 60_000
_SHOWN = re.compile(r"hudi\.pruning\W+(\w+), reads (\d+) of (\d+) files[^\n]*")
_JUDGED = frozenset({"PRUNED", "NOTHING_SKIPPED"})
_MATTERS = "; only the check from HiveServer2 matters"
_LOOPBACK = ("127.", "localhost", "::1")
_ADDRESSES = "hudi.pruning.service.addresses"
#: Hive's code of "Database does not exist".
_NO_DATABASE = "[Error 10072]"


def examine(
    address: HiveAddress,
    table: HudiTable,
    target: Registration,
    settings: Mapping[str, str],
    engine: str | None = None,
) -> Iterator[Finding]:
    """Check the links from HiveServer2 to the service and the table's indexes, one by one.

    Errors are findings; it never raises for them.

    Args:
        address: The HiveServer2.
        table: The table.
        target: Its registration.
        settings: Settings of the sessions whose queries are checked.
        engine: Run a query there as well, tez or mr, to check where it makes splits.
    """
    try:
        with open_session(address) as session:
            version = str(session.run("SELECT version()")[0][0]).split()[0]
            yield Finding("HiveServer2", Verdict.GOOD, f"{version} at {address}")
            session.set(settings)
            yield guarded(session, version)
            is_old = version.startswith("3.")
            yield from _inside(address, session, table, target, settings, engine, is_old=is_old)
    except ConnectionFailed as error:
        message, _, remedy = str(error).partition("; ")
        yield Finding("HiveServer2", Verdict.BROKEN, message, remedy)
        yield Finding("all others", Verdict.SKIPPED, "there is no session with HiveServer2")
    yield _indexes(table)


def _inside(
    address: HiveAddress,
    session: HiveSession,
    table: HudiTable,
    target: Registration,
    given: Mapping[str, str],
    engine: str | None,
    *,
    is_old: bool,
) -> Iterator[Finding]:
    """Check the links inside HiveServer2; Hive 3.1 (`is_old`) has another jar and no EXPLAIN."""
    there, no_database = _sought(session, target)
    diagnosis: Mapping[str, Any] | None = None
    try:
        diagnosis = _diagnosis(session, there)
        handler = _handler(diagnosis)
    except QueryError as error:
        handler = _no_handler_of_hive_3(error) if is_old else _no_handler(error)
    yield handler
    if diagnosis is not None:
        yield _settings(diagnosis["settings"], given, there)
        yield _service_from_hive(diagnosis)
        yield from _services_from_here(address, diagnosis)
    reading = None if there is None else _reading(session, target, there)
    if no_database is not None:
        yield no_database
    elif there is None and handler.verdict is Verdict.BROKEN:
        message = f"{target.name} is not in the metastore, and to register it needs the handler"
        yield Finding("registration", Verdict.SKIPPED, message)
    else:
        yield from _registered(target, there, reading)
    if diagnosis is None or there is None or reading is None or not reading.ours:
        message = "needs a table that the storage handler or its input formats read"
        yield Finding("probe", Verdict.SKIPPED, message)
    elif is_old:
        message = "EXPLAIN of Hive 3.1 shows no pruning; the line that each scan logs does"
        yield Finding("probe", Verdict.SKIPPED, message)
    elif there.handler is None and (refused := _without_hook(session)) is not None:
        yield refused
    else:
        probe = find_probe(table, without=there.partition_keys)
        yield _probed(session, target, probe)
        if engine is not None and probe is not None:
            yield from check_splits(session, target, probe, engine, _FUNCTION, diagnosis)


def _sought(
    session: HiveSession, target: Registration
) -> tuple[MetastoreTable | None, Finding | None]:
    """Return the table, if there is one, and what is wrong if there is not even its database."""
    try:
        return metastore_table(session, target.name), None
    except QueryError as error:
        if _NO_DATABASE not in error.reason:
            raise
    database = quote_identifier(target.name.database)
    message = f"Hive has no database {database}"
    remedy = f"CREATE DATABASE {database}, or name another one: --name DATABASE.TABLE"
    return None, Finding("registration", Verdict.BROKEN, message, remedy)


@dataclass(frozen=True)
class _Reading:
    """How many of a table's parts (the partitions in the metastore, or the table) we read."""

    ours: int
    parts: int


def _reading(session: HiveSession, target: Registration, there: MetastoreTable) -> _Reading:
    if there.handler is None and there.partition_keys and (is_of_sync(there) or is_ours(there)):
        formats = partition_formats(session, target.name, there)
        return _Reading(sum(each.format.input in INPUT_FORMATS for each in formats), len(formats))
    return _Reading(int(there.has_our_handler), 1)


def _without_hook(session: HiveSession) -> Finding | None:
    """Have EXPLAIN show pruning of tables without the handler; return why it will not."""
    try:
        session.set({"hive.semantic.analyzer.hook": EXPLAIN_HOOK})
    except QueryError as error:
        message = f"EXPLAIN shows no pruning of a table without the storage handler: {error}"
        remedy = f"set hive.semantic.analyzer.hook={EXPLAIN_HOOK} in hive-site.xml"
        return Finding("probe", Verdict.SKIPPED, message, remedy)
    return None


def _diagnosis(session: HiveSession, there: MetastoreTable | None) -> Mapping[str, Any]:
    session.run(f"CREATE TEMPORARY FUNCTION {_FUNCTION} AS '{DIAGNOSIS}'")
    # In HiveServer2 itself, not in a container.
    session.run("SET hive.fetch.task.conversion=more")
    properties = {} if there is None else there.properties
    given = ", ".join(
        quote_string(f"{key}={value}")
        for key, value in properties.items()
        if key.startswith("hudi.")
    )
    found: Mapping[str, Any] = json.loads(session.run(f"SELECT {_FUNCTION}({given})")[0][0])
    return found


def _handler(diagnosis: Mapping[str, Any]) -> Finding:
    seen = f"{diagnosis['version']} from {diagnosis['jar']}"
    missing = diagnosis.get("missing")
    if missing:
        message = f"{seen}: the class {missing} is missing"
        return Finding("handler", Verdict.BROKEN, message, jar_to_add(missing))
    if diagnosis["protocol"] == PROTOCOL_VERSION:
        return Finding("handler", Verdict.GOOD, seen)
    message = f"{seen}: protocol {diagnosis['protocol']}, and {PROTOCOL_VERSION} here"
    return Finding("handler", Verdict.BROKEN, message, "take jar and package from one release")


def _no_handler(error: QueryError) -> Finding:
    remedy = error.remedy or (
        "put pyhudi-hive-handler.jar, a Hudi bundle and kryo-shaded on HiveServer2's auxiliary path"
        " (hive.aux.jars.path) and restart it, or ADD JAR them in each session; without the right"
        " to create functions, ask an administrator to run this"
    )
    return Finding("handler", Verdict.BROKEN, " ".join(error.reason.split()), remedy)


def _no_handler_of_hive_3(error: QueryError) -> Finding:
    remedy = (
        "put pyhudi-hive3-handler.jar, which holds Hudi, on HiveServer2's auxiliary path"
        " (hive.aux.jars.path) without a Hudi bundle, and restart it"
    )
    return Finding("handler", Verdict.BROKEN, " ".join(error.reason.split()), remedy)


def _settings(
    settings: Mapping[str, str], given: Mapping[str, str], there: MetastoreTable | None
) -> Finding:
    message = ", ".join(f"{key}={value}" for key, value in settings.items() if value)
    properties = {} if there is None else there.properties
    overruled = [key for key in settings if properties.get(key, settings[key]) != settings[key]]
    if settings["hudi.pruning.enabled"].lower() == "false":
        remedy = "SET hudi.pruning.enabled=true, or remove the table property"
        return Finding("settings", Verdict.BROKEN, message, remedy)
    if not settings["hudi.pruning.timeout.ms"].isdecimal():
        remedy = "hudi.pruning.timeout.ms is not a number of milliseconds: the default is used"
        return Finding("settings", Verdict.DOUBTFUL, message, remedy)
    ignored = [key for key in given if settings.get(key, given[key]) != given[key]]
    if ignored:
        remedy = (
            f"SET {', '.join(ignored)} is ignored: hudi.pruning.session.settings, in hive-site.xml,"
            " names what sessions may change"
        )
        return Finding("settings", Verdict.DOUBTFUL, message, remedy)
    if overruled:
        remedy = (
            f"the table property {', '.join(overruled)} is ignored: the session overrides it, or"
            " hudi.pruning.table.settings does not allow it"
        )
        return Finding("settings", Verdict.DOUBTFUL, message, remedy)
    return Finding("settings", Verdict.GOOD, message)


def _service_from_hive(diagnosis: Mapping[str, Any]) -> Finding:
    link = "service, from HiveServer2"
    services = diagnosis["services"]
    if not services:
        message = f"no address can be read from {_ADDRESSES}={diagnosis['settings'][_ADDRESSES]!r}"
        remedy = f"set {_ADDRESSES}=host:port in hive-site.xml"
        return Finding(link, Verdict.BROKEN, message, remedy)
    good = [one for one in services if one.get("protocol") == PROTOCOL_VERSION]
    message = "; ".join(_service_text(one) for one in services)
    if services[0].get("own") and not good:
        remedy = "HiveServer2's log has what the service wrote before it ended"
        return Finding(link, Verdict.BROKEN, message, remedy)
    if len(good) == len(services):
        return Finding(link, Verdict.GOOD, message)
    remedy = (
        f"start `pyhudi serve` where {_ADDRESSES} points, with a --host that HiveServer2 can reach,"
        " and let the port through"
    )
    return Finding(link, Verdict.DOUBTFUL if good else Verdict.BROKEN, message, remedy)


def _service_text(one: Mapping[str, Any]) -> str:
    if "problem" in one:
        return f"{one['address']}: {one['problem']}"
    whose = "HiveServer2's own one at " if one.get("own") else ""
    return f"{whose}{one['address']}: version {one['version']}, {one['millis']} ms"


def _services_from_here(address: HiveAddress, diagnosis: Mapping[str, Any]) -> Iterator[Finding]:
    for one in diagnosis["services"]:
        link = "service, from here"
        if one.get("own"):
            message = "HiveServer2's own service answers HiveServer2 alone"
            yield Finding(link, Verdict.SKIPPED, message)
            continue
        host, _, port = one["address"].rpartition(":")
        host = host.strip("[]")
        if host.startswith(_LOOPBACK) and not address.host.startswith(_LOOPBACK):
            message = (
                f"{one['address']} is a loopback address of HiveServer2's host; run this command on"
                f" {address.host} to check it"
            )
            yield Finding(link, Verdict.SKIPPED, message)
            continue
        try:
            with PruningClient(host, int(port)) as client:
                message = f"{one['address']}: version {client.info().version}"
            yield Finding(link, Verdict.GOOD, message)
        except (TException, OSError, EOFError) as error:
            message = f"{one['address']}: {error}"
            yield Finding(link, Verdict.DOUBTFUL, message, f"{_why_not_from_here(error)}{_MATTERS}")


def _why_not_from_here(error: Exception) -> str:
    if isinstance(error, TApplicationException):
        return "this command shows the service no token"
    if isinstance(error, TTransportException) and error.type == TTransportException.END_OF_FILE:
        return "the service wants TLS, most likely, and this command does not speak it"
    return "a firewall may block this host on purpose"


def _registered(
    target: Registration, there: MetastoreTable | None, reading: _Reading | None
) -> Iterator[Finding]:
    name = str(target.name).replace("`", "")
    register = f"pyhudi hive register {quote(target.location)} --name {quote(name)}"
    if there is None or reading is None:
        message = f"{target.name} is not in the metastore"
        yield Finding("registration", Verdict.BROKEN, message, register)
        return
    if not there.has_our_handler and not reading.ours:
        message = f"{target.name} is read by {there.handler or there.input_format}: never pruned"
        yield Finding("registration", Verdict.BROKEN, message, _instead_of(target, there))
        return
    if not same_place(there.location, target.location):
        message = f"{target.name} reads {there.location}, not {target.location}"
        remedy = "name Hive's location with --location, or another table with --name"
        yield Finding("registration", Verdict.BROKEN, message, remedy)
        return
    if there.handler is None:
        yield _adopted(target, there, reading, f"pyhudi hive adopt {quote(name)}")
        return
    yield Finding("registration", Verdict.GOOD, f"{target.name}, read by the storage handler")
    wrong = mismatch(target, there)
    yield (
        Finding("columns", Verdict.BROKEN, wrong, register)
        if wrong
        else Finding("columns", Verdict.GOOD, f"{len(there.columns)}, as in the Hudi table")
    )


def _instead_of(target: Registration, there: MetastoreTable) -> str:
    """Return the command that has our readers read the table, in place of another reader."""
    name = str(target.name).replace("`", "")
    if is_of_sync(there):
        return f"pyhudi hive adopt {quote(name)}"
    register = f"pyhudi hive register {quote(target.location)} --name"
    if there.survives_drop:
        return f"{register} {quote(name)} --replace"
    # DROP TABLE might delete its data, so it is not replaced.
    return f"{register} {quote(f'{name}_hudi')}"


def _adopted(target: Registration, there: MetastoreTable, reading: _Reading, adopt: str) -> Finding:
    if reading.ours < reading.parts:
        message = f"{target.name}: {reading.ours} of {reading.parts} partitions are pruned"
    elif not is_ours(there):
        message = (
            f"{target.name}: its partitions are pruned, new ones will not be: Hudi's sync has set"
            " its input format again"
        )
    else:
        message = f"{target.name}, read by {there.input_format}"
        return Finding("registration", Verdict.GOOD, message)
    return Finding("registration", Verdict.DOUBTFUL, message, adopt)


def _indexes(table: HudiTable) -> Finding:
    found = checked_statuses(IndexCatalog.open(table))
    path = quote(table.base_path)
    create = f"pyhudi index create {path} NAME --using column_stats --columns ..."
    if not found:
        message = "none: only partition values prune"
        return Finding("indexes", Verdict.DOUBTFUL, message, create)
    message = "; ".join(f"{each.name} {each.state.value}" for each in found)
    stale = [each for each in found if each.state is not State.ACTIVE]
    if stale:
        remedy = "; ".join(f"{each.name}: {each.note}" for each in stale if each.note)
        return Finding("indexes", Verdict.DOUBTFUL, message, remedy or "wait until it is built")
    return Finding("indexes", Verdict.GOOD, message)


def _probed(session: HiveSession, target: Registration, probe: Probe | None) -> Finding:
    if probe is None:
        message = "no column's statistics can exclude a file"
        remedy = "create an index, or cluster the table (pyhudi layout analyze)"
        return Finding("probe", Verdict.DOUBTFUL, message, remedy)
    session.set({"hive.explain.user": "false", "hudi.pruning.timeout.ms": str(_PROBE_MILLIS)})
    query = f"SELECT * FROM {target.name} WHERE {probe.predicate}"
    try:
        plan = "\n".join(str(row[0]) for row in session.run(f"EXPLAIN {query}"))
    except QueryError as error:
        return Finding("probe", Verdict.BROKEN, str(error), f"run it by hand: EXPLAIN {query}")
    shown = _SHOWN.search(plan)
    if shown is None:
        message = f"EXPLAIN {query} does not mention pruning"
        return Finding("probe", Verdict.BROKEN, message, "compare the jar's version with this one")
    outcome, kept = shown[1], int(shown[2])
    message = f"WHERE {probe.predicate}: {shown[0]}"
    if outcome not in _JUDGED:
        return Finding("probe", Verdict.BROKEN, message, "see HiveServer2's log and the service's")
    if kept > probe.kept:
        remedy = f"this host keeps {probe.kept} files: compare the service's version and its log"
        return Finding("probe", Verdict.DOUBTFUL, message, remedy)
    return Finding("probe", Verdict.GOOD, message)
