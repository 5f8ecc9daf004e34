"""A way to a service that some processes do not have, as if a node's network were cut off."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

_ESTABLISHED = "01"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_CHUNK = 1 << 16
_START_SECONDS = 20.0


class WayTo:
    """A free port of every interface: what comes there is passed on to another port.

    Attributes:
        port: The port, once it has started.
    """

    def __init__(self, target: int) -> None:
        """Prepare the way to a port of this machine."""
        self.port = 0
        self._target = target
        self._cut_off: Sequence[int] = ()
        self._open: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._started = Future[int]()

    def cut_off(self, processes: Sequence[int]) -> None:
        """Close all connections, and from now on at once those of these processes alone."""

        def close() -> None:
            self._cut_off = processes
            for writer in self._open:
                writer.close()

        assert self._loop is not None
        self._loop.call_soon_threadsafe(close)

    def __enter__(self) -> "WayTo":
        """Listen."""
        self._thread.start()
        self.port = self._started.result(_START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections, and listen no more."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "0.0.0.0", 0)
        self._started.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        # What still runs is cancelled by asyncio.run.

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connected(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = writer.get_extra_info("peername")[1]
        if await asyncio.to_thread(_is_open_in, caller, self._cut_off):
            writer.close()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._open.add(writer)
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            self._open.discard(writer)


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
