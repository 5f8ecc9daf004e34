"""A process that hangs ends by itself, whatever it hangs in."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

_PATIENCE = 120
#: Holds the interpreter's lock for hours: 2**40 items without bytes, in C.
_HANG = """
import asyncio, io, fastavro
from pyhudi_expr.service.running.single import watched
schema = fastavro.parse_schema({"type": "array", "items": "null"})
endless = io.BytesIO(b"\\x80\\x80\\x80\\x80\\x80\\x80\\x40\\0")
async def run():
    async with watched(3):
        await asyncio.sleep(0.1)
        print("hangs", flush=True)
        fastavro.schemaless_reader(endless, schema, None)
asyncio.run(run())
"""
_SOUND = """
import asyncio
from pyhudi_expr.service.running.single import watched
async def run():
    async with watched(20):
        await asyncio.sleep(2.5)
asyncio.run(run())
"""
_LEFT_THREAD = """
import threading, time
from pyhudi_expr.service.running.single import end_within
threading.Thread(target=time.sleep, args=(3600,)).start()
end_within(1)
"""


@pytest.mark.parametrize("program", [_HANG, _LEFT_THREAD], ids=["in C", "a thread"])
def test_a_process_that_hangs_ends_and_says_where(program: str) -> None:
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=_PATIENCE
    )
    assert ended.returncode == 1
    assert "Timeout (" in ended.stderr
    assert time.monotonic() - began < _PATIENCE


def test_a_sound_process_does_not_end() -> None:
    ended = subprocess.run([sys.executable, "-c", _SOUND], capture_output=True, timeout=_PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, b"")
