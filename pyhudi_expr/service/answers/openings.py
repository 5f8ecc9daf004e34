"""Tables that are opened for the first time: announced, or longer than the caller waits.

A query is announced when its planning begins, and asks when that has ended. A table in a slow
storage that nobody has asked about before is loaded in between.
"""

from __future__ import annotations

import threading
import time
from typing import Any, TypeAlias

import structlog

from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.parsing.budget import spending_as_a_question

_AT_ONCE = 4
_log: Any = structlog.get_logger()


class Announcements:
    """Loads what announced questions need, each in a thread of its own. Thread safe.

    The question itself waits for what is being loaded, so the work is not done twice. What fails is
    named by the question.
    """

    def __init__(self, pruner: Pruner) -> None:
        self._pruner = pruner
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def take(self, base_path: str, request: PruneRequest) -> bool:
        """Begin to load, unless so many others are being loaded; return whether it has started."""
        if not self._places.acquire(blocking=False):
            return False
        # A daemon: the service does not wait for it when it stops.
        threading.Thread(
            target=self._load, args=(base_path, request), name="announced", daemon=True
        ).start()
        return True

    def _load(self, base_path: str, request: PruneRequest) -> None:
        started = time.perf_counter()
        try:
            with spending_as_a_question():
                self._pruner.prepare(base_path, request)
        except Exception as error:
            _log.debug("announced, not loaded", table=base_path, error=type(error).__name__)
        else:
            millis = round((time.perf_counter() - started) * 1e3, 1)
            _log.info("announced", table=base_path, ms=millis)
        finally:
            self._places.release()


_Key: TypeAlias = tuple[str, TableView, str | None]


class Openings:
    """Opens tables, each in a thread of its own, which goes on without the question. Thread safe.

    The question that opens the table next, itself, says what fails.
    """

    def __init__(self, pruner: Pruner, at_once: int) -> None:
        """Open so many tables at once: a caller who names one after the other gets no thread more.

        Args:
            pruner: What keeps the open tables.
            at_once: The limit. A question beyond it opens its table itself.
        """
        self._pruner = pruner
        self._places = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._ended: dict[_Key, threading.Event] = {}

    def open(self, base_path: str, request: PruneRequest, seconds: float) -> bool:
        """Open a table, unless it is open or being opened, and answer the request.

        Args:
            base_path: The table.
            request: What is asked, so that what it needs is read as well.
            seconds: How long to wait.

        Returns:
            Whether that has ended, or is left to the question. Else it goes on.
        """
        if self._pruner.has_opened(base_path, request):
            return True
        key = base_path, request.view, request.as_of
        with self._lock:
            ended = self._ended.get(key)
            if ended is None:
                if not self._places.acquire(blocking=False):
                    return True
                ended = self._ended[key] = threading.Event()
                # A daemon: the service does not wait for it when it stops.
                threading.Thread(
                    target=self._open, args=(key, request, ended), name="opening", daemon=True
                ).start()
        return ended.wait(max(seconds, 0))

    def _open(self, key: _Key, request: PruneRequest, ended: threading.Event) -> None:
        try:
            with spending_as_a_question():
                self._pruner.prune(key[0], request)
        except Exception as error:
            _log.debug("not opened", table=key[0], error=type(error).__name__)
        finally:
            with self._lock:
                del self._ended[key]
            self._places.release()
            ended.set()
