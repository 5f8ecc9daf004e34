"""Questions that callers announce: what they need is loaded before they are asked.

A query is announced when its planning begins, and asks when that has ended. A table in a slow
storage that nobody has asked about before is loaded in between.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import structlog

from pyhudi_expr.index.prune import Pruner, PruneRequest
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
