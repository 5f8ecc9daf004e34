"""A log file of a service's predicates, which `pyhudi advise --query-log` reads.

It has a line for each evaluated request, a JSON object: `at` (UTC), `table`, `predicate`, the
protocol's nodes (`protocol.conversion.encoder`), and `semantics`, what their meaning depends on as
well: the engine and its version, zones by their names, settings that are not the defaults. It holds
what queries look for, so only its owner may read it.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from pyhudi_expr.expr.frontend.common.constants import disjunction
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    HudiExpression,
    InKeys,
    Literal,
    Not,
    Or,
)
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.protocol.conversion.encoder import filter_text

_MOST_BYTES = 64 << 20
"""Of the file; then it becomes `.1`, in the place of an older one."""
_MOST_RANGES = 20
"""Of the keys of a join."""


class QueryLog:
    """Appends to the file. Thread safe. If a line cannot be written, the request succeeds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, table: str, predicate: HudiExpression, semantics: Semantics) -> None:
        """Write a line for a request."""
        entry = {
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "table": table,
            "predicate": filter_text(_shortened(predicate)),
            "semantics": _named(semantics),
        }
        line = json.dumps(entry, ensure_ascii=False)
        with suppress(OSError), self._lock:
            self._append(f"{line}\n".encode())

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = os.open(self._path, flags, mode=0o600)
        try:
            status = os.fstat(file)
            os.write(file, line)
        finally:
            os.close(file)
        # Another worker may have replaced it.
        is_full = status.st_size + len(line) > _MOST_BYTES
        if is_full and self._path.stat().st_ino == status.st_ino:
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))


def _named(semantics: Semantics) -> dict[str, object]:
    """Return what is known of a meaning; of zones their names, as their rules are kilobytes."""
    zone, reading = semantics.zone, semantics.reading_zone
    found = {
        "engine": semantics.engine.value,
        "version": semantics.version,
        "zone": zone and zone.name,
        "readingZone": reading and reading.name,
        "zones": sorted(semantics.zones),
        "settings": dict(semantics.settings),
    }
    return {name: value for name, value in found.items() if value}


def _shortened(predicate: HudiExpression) -> HudiExpression:
    """Return a predicate with a few ranges in place of many keys."""
    match predicate:
        case And(children=children):
            return And(tuple(map(_shortened, children)))
        case Or(children=children):
            return Or(tuple(map(_shortened, children)))
        case Not(child=child):
            return Not(_shortened(child))
        case InKeys(term=term, keys=keys) if keys.count > _MOST_RANGES:
            few = keys.shortened(_MOST_RANGES)
            ends = zip(*few.python_ends(), strict=True)
            return disjunction(
                Between(term, Literal(low, few.type), Literal(high, few.type)) for low, high in ends
            )
    return predicate
