"""A log file of a service's predicates, which `pyhudi advise --query-log` reads.

It has a line for each evaluated request, a JSON object: `at` (UTC), `table`, and `predicate`, the
protocol's nodes (`protocol.conversion.json_form`). It holds what queries look for, so only its
owner may read it.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.conversion.json_form import filter_json

_MOST_BYTES = 64 << 20
"""Of the file; then it becomes `.1`, in the place of an older one."""


class QueryLog:
    """Appends to the file. Thread safe. If a line cannot be written, the request succeeds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, table: str, predicate: HudiExpression) -> None:
        """Write a line for a request."""
        at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        entry = {"at": at, "table": table, "predicate": filter_json(predicate)}
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
