"""A way to a service that some processes do not have, as if a node's network were cut off."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

_ESTABLISHED = "01"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_CHUNK = 1 << 16
_START_SECONDS = 20.0


@contextlib.contextmanager
def way_to(port: int, cut_off: Callable[[], Sequence[int]]) -> Iterator[int]:
    """Listen on a free port of every interface, and pass on what comes to another port.

    Connections of processes that `cut_off` names are closed without a byte.
    """
    loop, started, stop = asyncio.new_event_loop(), Future[int](), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = writer.get_extra_info("peername")[1]
        if await asyncio.to_thread(_is_open_in, caller, cut_off()):
            writer.close()
            return
        target_reader, target_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, target_writer), _copy(target_reader, writer))

    async def run() -> None:
        server = await asyncio.start_server(connected, "0.0.0.0", 0)
        started.set_result(server.sockets[0].getsockname()[1])
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    try:
        yield started.result(_START_SECONDS)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()


def _is_open_in(port: int, processes: Sequence[int]) -> bool:
    """Whether one of these processes has the connection whose own port is this."""
    sockets = {f"socket:[{number}]" for number in _sockets(port)}
    for process in processes:
        for entry in _entries(Path(f"/proc/{process}/fd")):
            with contextlib.suppress(OSError):
                if os.readlink(entry) in sockets:
                    return True
    return False


def _sockets(port: int) -> Iterator[str]:
    for table in _TABLES:
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            own = int(fields[1].rpartition(":")[2], 16)
            if own == port and fields[3] == _ESTABLISHED:
                yield fields[9]


def _entries(directory: Path) -> Sequence[Path]:
    try:
        return list(directory.iterdir())
    except OSError:  # the process has ended
        return []
