"""An HTTP/1.1 proxy before an S3 server that records, delays and fails requests.

    with RecordingProxy(server.port) as proxy:
        proxy.delay = 0.03
        with proxy.recording() as recording:
            ...  # clients of proxy.endpoint
        assert recording.waves <= 2, recording.summary()

It passes on all bytes unchanged, also the header Host, so that signatures hold; but for `ignoring`.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from devtools.s3.exchange import Connection, Controls
from devtools.s3.faults import Death, FaultPlan
from devtools.s3.messages import HEAD_LIMIT, Message
from devtools.s3.recording import Recording, Request
from devtools.s3.server import S3Server

_START_SECONDS = 20.0
_BACKLOG = 512


class RecordingProxy:
    """A proxy on a free port of the loopback interface, in a thread of this process.

    Requests that change the same object are passed on one after another: S3Proxy compares and
    writes in two steps, and S3 in one.

    Attributes:
        requests: The requests that have been answered, in the order of their ends.
        port: The port, once the proxy has started.
    """

    def __init__(self, upstream_port: int) -> None:
        """Prepare the proxy without starting it, for a server at this port of the same machine."""
        self.requests: list[Request] = []
        self.port = 0
        self._upstream_port = upstream_port
        self._controls = Controls(self._record)
        self._recordings: tuple[Recording, ...] = ()
        self._serving: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    @property
    def endpoint(self) -> str:
        """The URL that stands for the server's."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def delay(self) -> float:
        """How long each request waits before it is passed on, in seconds. Change it at any time."""
        return self._controls.delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._controls.delay = seconds

    def lose_answers(self, count: int) -> None:
        """Close the connection instead of passing on the next answers to writing requests.

        The server has done what it was asked then, and the client does not know it.
        """
        self._controls.lost = count

    @contextmanager
    def ignoring(self, header: str, server: S3Server) -> Iterator[None]:
        """Let the server ignore a header, such as "if-match", of requests to write an object.

        They are signed anew, without the header and the object's metadata.
        """

        def unconditional(message: Message) -> Message:
            if header not in message.head.fields:
                return message
            return message.with_headers(server.signed_headers(message.method, message.path))

        self._controls.unconditional = unconditional
        try:
            yield
        finally:
            self._controls.unconditional = None

    def reset(self) -> None:
        """Forget the requests, and answer as fast and as well as the server does."""
        self.requests.clear()
        self._controls.delay = 0.0
        self._controls.lost = 0
        self._controls.faults = self._controls.death = None

    @contextmanager
    def recording(self) -> Iterator[Recording]:
        """Record the requests that begin and end within the block."""
        recording = Recording()
        self._recordings += (recording,)
        try:
            yield recording
        finally:
            self._recordings = tuple(one for one in self._recordings if one is not recording)

    @contextmanager
    def faults(self, rate: float, seed: int) -> Iterator[None]:
        """Fail some requests within the block, as `FaultPlan` decides."""
        self._controls.faults = FaultPlan(rate, seed)
        try:
            yield
        finally:
            self._controls.faults = None

    @contextmanager
    def die_at(self, n: int, on_request: Callable[[], object] | None = None) -> Iterator[Death]:
        """Let clients die within the block, at their n-th writing request (PUT, POST, DELETE).

        All earlier writing requests are complete then. `on_request` is called, for example to kill
        a process; after that the connections of that request and of all further ones are closed.
        Where the block ends before the n-th writing request, nothing happens.

        Raises:
            BaseException: At the end of the block, what `on_request` raised.
        """
        death = self._controls.death = Death(n, on_request)
        try:
            yield death
        finally:
            self._controls.death = None
            death.end()

    def __enter__(self) -> "RecordingProxy":
        """Start the proxy, and return when it listens."""
        started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="S3 proxy")
        self._thread.start()
        self.port = started.result(_START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections and stop."""
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, started: Future[int]) -> None:
        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            server = await asyncio.start_server(
                self._serve, "127.0.0.1", limit=HEAD_LIMIT, backlog=_BACKLOG
            )
            started.set_result(server.sockets[0].getsockname()[1])
            await self._stop.wait()
            server.close()
            # What still runs is cancelled by asyncio.run.

        try:
            asyncio.run(run())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self._upstream_port, self._controls)
        task = asyncio.create_task(connection.serve())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        # Also the connection of a task that is cancelled before it begins.
        task.add_done_callback(lambda _: writer.close())

    def _record(self, request: Request) -> None:
        self.requests.append(request)
        for recording in self._recordings:
            if request.start >= recording.begin:
                recording.requests.append(request)
