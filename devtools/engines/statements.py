"""A client of the protocol in which Presto and Trino take statements."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_PAUSE_SECONDS = 0.05
_TIMEOUT_SECONDS = 120
_NUMBERS = frozenset({"sum", "total"})  # of Presto, and of Trino
_FRAMES = 8
_NO_SESSION: Mapping[str, str] = {}


class StatementError(RuntimeError):
    """A statement failed; the messages are the engine's."""


@dataclass(frozen=True)
class Result:
    """The result of a statement.

    Attributes:
        rows: Its rows, in the engine's order.
        rows_read: The rows that its scans read.
        counters: What the connector counted, by name.
        info: All that the engine knows of the query.
    """

    rows: list[tuple[Any, ...]]
    rows_read: int
    counters: Mapping[str, int]
    info: Mapping[str, Any]


class StatementClient:
    """Sends statements to a server on this machine."""

    def __init__(self, address: str, engine: str) -> None:
        """Take the server's address and the name in its headers; nothing is sent yet."""
        self._address = address
        self._prefix = f"X-{engine}-"

    def run(self, sql: str, session: Mapping[str, str] = _NO_SESSION) -> Result:
        """Run a statement.

        Args:
            sql: The statement.
            session: The session's properties, by name.

        Raises:
            StatementError: It failed.
        """
        rows: list[tuple[Any, ...]] = []
        page = self._send("/v1/statement", sql.encode(), session)
        rows += map(tuple, page.get("data", ()))
        while "nextUri" in page:
            page = self._send(page["nextUri"].removeprefix(self._address), None, session)
            rows += map(tuple, page.get("data") or ())
            if not page.get("data"):
                time.sleep(_PAUSE_SECONDS)
        if "error" in page:
            raise StatementError("; because ".join(_reasons(page["error"])))
        info = self._send(f"/v1/query/{page['id']}", None, session)
        return Result(rows, page["stats"]["processedRows"], dict(_counters(info)), info)

    def is_ready(self) -> bool:
        """Return whether the server takes statements."""
        try:
            return not self._send("/v1/info", None, _NO_SESSION)["starting"]
        except (OSError, ValueError):
            return False

    def _send(self, path: str, body: bytes | None, session: Mapping[str, str]) -> dict[str, Any]:
        headers = {
            f"{self._prefix}User": "tests",
            f"{self._prefix}Time-Zone": "UTC",
            f"{self._prefix}Session": ",".join(f"{key}={value}" for key, value in session.items()),
        }
        request = urllib.request.Request(f"{self._address}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


def _reasons(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages of an error and of its causes, each cause with where it arose."""
    yield error["message"]
    cause = error.get("failureInfo")
    while cause:
        yield "\n    ".join([f"{cause['type']}: {cause.get('message')}", *cause["stack"][:_FRAMES]])
        cause = cause.get("cause")


def _counters(info: object) -> Iterator[tuple[str, int]]:
    """Find the plugin's counters, wherever the engine shows them: {"sum": 3}, {"total": 3}."""
    if isinstance(info, list):
        for value in info:
            yield from _counters(value)
    elif isinstance(info, dict):
        for key, value in info.items():
            if key.startswith("pyhudi") and isinstance(value, dict) and value.keys() & _NUMBERS:
                yield key, sum(value.get(name, 0) for name in _NUMBERS)
            else:
                yield from _counters(value)
