"""Ends a process that hangs, by a thread that needs no lock of the interpreter.

A call in C that never returns stops every thread of Python, signal handlers as well. The watchdog
prints where each thread is, and ends the process with exit code 1. A supervisor starts another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
from collections.abc import AsyncIterator

#: Longer than any sound call in C takes on a busy machine.
HANG_SECONDS = 30.0
_BEAT_SECONDS = 1.0


@contextlib.asynccontextmanager
async def watched(hang_seconds: float = HANG_SECONDS) -> AsyncIterator[None]:
    """End the process if its event loop does not run for so long within the block."""
    beating = asyncio.create_task(_beat(hang_seconds))
    try:
        yield
    finally:
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating


def end_within(seconds: float) -> None:
    """End the process after so many seconds, whatever its threads do then."""
    faulthandler.dump_traceback_later(seconds, exit=True)


async def _beat(hang_seconds: float) -> None:
    try:
        while True:
            end_within(hang_seconds)
            await asyncio.sleep(_BEAT_SECONDS)
    finally:
        faulthandler.cancel_dump_traceback_later()
