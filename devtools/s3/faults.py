"""What a proxy does wrong on purpose: answers of an overloaded server, cut bodies, deaths."""

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

from devtools.s3.messages import Message
from devtools.s3.recording import Fault

_BODY = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
_HEAD = (
    "HTTP/1.1 503 Slow Down\r\n"
    "Content-Type: application/xml\r\n"
    f"Content-Length: {len(_BODY)}\r\n\r\n"
).encode()
_END_SECONDS = 60.0


def slow_down(method: str) -> bytes:
    """Return the answer of S3 to a client that asks too often."""
    return _HEAD if method == "HEAD" else _HEAD + _BODY


class FaultPlan:
    """Decides which requests fail.

    The decision about a request depends on the seed, on its method, path and range, and on how
    often it came before. So the same requests fail again whatever the order in which threads send
    them, and a request that is sent again has a new chance.
    """

    def __init__(self, rate: float, seed: int) -> None:
        """Prepare the plan.

        Args:
            rate: The share of the requests that are answered 503, 0 to 0.5; the bodies of as many
                of the GET requests are cut.
            seed: Another seed gives other decisions.
        """
        if not 0 <= rate <= 0.5:
            raise ValueError(f"expected a rate from 0 to 0.5, got {rate}")
        self._rate = rate
        self._seed = seed
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def draw(self, message: Message) -> Fault | None:
        """Return what happens to a request."""
        key = (message.method, message.path, message.head.fields.get("range", ""))
        text = repr((self._seed, key, self._seen[key])).encode()
        self._seen[key] += 1
        chance = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2**64
        if chance < self._rate:
            return Fault.SLOW_DOWN
        if chance < 2 * self._rate and message.method == "GET":
            return Fault.CUT
        return None


class Death:
    """The death of a client at its n-th writing request from now on.

    The server gets neither that request nor any later one. Those before it are complete when the
    death happens.
    """

    def __init__(self, n: int, on_request: Callable[[], object] | None) -> None:
        """Prepare the death; `on_request` is called in a thread of its own, once."""
        if n < 1:
            raise ValueError(f"requests count from 1, got {n}")
        self._left = n
        self._on_request = on_request
        self._dying: asyncio.Task[None] | None = None
        self._ended = threading.Event()
        self._error: BaseException | None = None

    @property
    def happened(self) -> bool:
        """Whether there was an n-th writing request."""
        return self._dying is not None

    async def admits(self, message: Message, are_written: Callable[[], Awaitable[object]]) -> bool:
        """Return whether a request is passed on; if not, return when the client is dead.

        Args:
            message: The request.
            are_written: Returns when the server has answered all earlier writing requests.
        """
        if self._dying is None:
            self._left -= message.is_writing
            if self._left > 0:
                return True
            self._dying = asyncio.create_task(self._die(are_written))
        await asyncio.shield(self._dying)
        return False

    def end(self) -> None:
        """Wait until a death that has begun is over.

        Raises:
            BaseException: What `on_request` raised.
        """
        if self.happened and not self._ended.wait(_END_SECONDS):
            raise TimeoutError(f"a death lasted more than {_END_SECONDS:g} s")
        if self._error is not None:
            raise self._error

    async def _die(self, are_written: Callable[[], Awaitable[object]]) -> None:
        try:
            await are_written()
            if self._on_request is not None:
                await asyncio.to_thread(self._on_request)
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()
