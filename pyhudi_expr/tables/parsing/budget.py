"""What one question may spend on the files of its table, decompression included.

Whoever may write a table decides what its files hold, and a question that others wait for reads
them. So parsers draw on the question's budget: bytes read, bytes after decompression, memory of
decoded values, time of processors. What exceeds it is a `CorruptFile`, which costs pruning only. A
call in C cannot be interrupted, so its size is checked before it.

The budget is that of the context (`contextvars`); threads that work for a question run in a copy of
its context (`in_context`). Without a question, as in a command, totals have no limit.

JSON is decoded in pieces. Python's decoder is written in C and holds the interpreter's lock until
it ends: other threads run between the pieces, and each draws on the budget. `iter_unordered` reads
on several cores, as reading, uncompressing and decoding release that lock.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import math
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from json import decoder
from typing import Any, TypeAlias, TypeVar

from pyhudi_expr.errors import CorruptFile

_T = TypeVar("_T")

#: Bytes of a file that is read and parsed as a whole, decompressed as well: properties, JSON,
#: metadata of a commit.
FILE_BYTES = 256 << 20
PROPERTIES_BYTES = 4 << 20
#: Bytes that decompression may give at once: so many, and so many for each compressed byte. Names
#: and numbers of real tables give up to 20; a crafted file up to 1,032.
_INFLATED_AT_LEAST, _INFLATED_OF_A_BYTE = 16 << 20, 64


class OverBudgetError(CorruptFile):
    """Reading a file costs more than a question may spend."""


@dataclass(frozen=True)
class Limits:
    """What a question may spend.

    Attributes:
        read_bytes: Bytes read of files.
        inflated_bytes: Bytes after decompression, beside what the bytes read give at most in real
            tables.
        memory_bytes: Memory of decoded values.
        processor_seconds: Time of processors, of all its threads together.
    """

    read_bytes: float = math.inf
    inflated_bytes: float = math.inf
    memory_bytes: float = math.inf
    processor_seconds: float = math.inf


#: Those of a question to the service. **Measured**: a first question about a table of 100,000
#: files, with bounds of four columns, reads 33 MB, which give 103 MB after decompression, in 2.2 s
#: of a processor. The small tables that Hudi wrote for tests read up to 0.6 MB, and give 0.7 for
#: each byte. By that, five million files would reach the limit of time, and a fortieth of that of
#: bytes.
_OF_A_QUESTION = Limits(
    read_bytes=64 << 30, inflated_bytes=1 << 30, memory_bytes=4 << 30, processor_seconds=120
)


class Budget:
    """What one question has spent. Thread safe."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._read = self._inflated = self._memory = 0
        self._began: dict[int, float] = {}
        self._spent: dict[int, float] = {}

    def read(self, file: str, nbytes: int) -> None:
        """Spend bytes that are read of a file. Raises OverBudgetError."""
        with self._lock:
            self._read += nbytes
        self._check(file, "bytes read", self._read, self._limits.read_bytes)

    def inflated(self, file: str, nbytes: int) -> None:
        """Spend bytes after decompression. Raises OverBudgetError."""
        with self._lock:
            self._inflated += nbytes
        limit = self._limits.inflated_bytes + _INFLATED_OF_A_BYTE * self._read
        self._check(file, "bytes after decompression", self._inflated, limit)

    def decoded(self, file: str, nbytes: int) -> None:
        """Spend memory of values that are decoded. Raises OverBudgetError."""
        with self._lock:
            self._memory += nbytes
        self._check(file, "bytes of decoded values", self._memory, self._limits.memory_bytes)

    def _check(self, file: str, what: str, spent: int, limit: float) -> None:
        if spent > limit:
            raise _over(file, what, limit)
        if self._limits.processor_seconds < math.inf:
            self._check_time(file)

    def _check_time(self, file: str) -> None:
        thread, now = threading.get_ident(), time.thread_time()
        with self._lock:
            self._spent[thread] = now - self._began.setdefault(thread, now)
            seconds = sum(self._spent.values())
        if seconds > self._limits.processor_seconds:
            raise _over(file, "seconds of a processor", self._limits.processor_seconds)


def _over(file: str, what: str, limit: float) -> OverBudgetError:
    return OverBudgetError(file, f"reading ends here: the question has spent its {limit:g} {what}")


_UNLIMITED = Budget(Limits())
_CURRENT = contextvars.ContextVar[Budget | None]("budget", default=None)


def current() -> Budget:
    """Return the budget of the question for which this thread works."""
    return _CURRENT.get() or _UNLIMITED


class spending:  # noqa: N801 - read as a function
    """Work for a question within the block; a generator would take as long as some reads do."""

    def __init__(self, budget: Budget) -> None:
        """Take what the question spends of."""
        self._budget = budget

    def __enter__(self) -> None:
        self._before = _CURRENT.set(self._budget)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._before)


def spending_as_a_question() -> spending:
    """Work for a new question to the service within the block."""
    return spending(Budget(_OF_A_QUESTION))


def in_context(function: Callable[..., _T]) -> Callable[..., _T]:
    """Return the function as a thread has to call it, to work for the question of this one."""
    budget = current()

    def call(*args: object) -> _T:
        with spending(budget):
            return function(*args)

    return call


def check_file_size(file: str, size: int) -> None:
    """Check, and spend, the size of a file that is read as a whole. Raises OverBudgetError."""
    check_size(file, size, FILE_BYTES)
    current().read(file, size)


def check_size(file: str, size: int, most: int) -> None:
    """Check the size of a file, which has been spent or is small. Raises OverBudgetError."""
    if size > most:
        raise OverBudgetError(file, f"has {size} bytes; files of its kind are read up to {most}")


def check_inflated_size(file: str, stored: int, inflated: int) -> None:
    """Check, and spend, what so many stored bytes give after decompression.

    Raises:
        OverBudgetError: The question may not spend so many, or no real file has such a ratio.
    """
    if inflated > inflated_at_most(stored):
        raise OverBudgetError(
            file,
            f"{stored} bytes would take {inflated} after decompression; up to"
            f" {inflated_at_most(stored)} are decompressed",
        )
    current().inflated(file, inflated)


def inflated_at_most(stored: int) -> int:
    """Return to how many bytes so many stored ones are decompressed."""
    return min(_INFLATED_AT_LEAST + _INFLATED_OF_A_BYTE * stored, FILE_BYTES)


#: Forms of deflated bytes, as zlib numbers them.
RAW, GZIP = -zlib.MAX_WBITS, zlib.MAX_WBITS | 16


def inflate(content: bytes, form: int, file: str) -> bytes:
    """Decompress deflated bytes of a file, RAW or GZIP.

    Raises:
        CorruptFile: They are damaged, or take more than a question may spend (OverBudgetError).
    """
    inflater = zlib.decompressobj(form)
    most = inflated_at_most(len(content))
    try:
        plain = inflater.decompress(content, most + 1)
    except zlib.error as error:
        raise CorruptFile(file, f"cannot be decompressed: {error}") from error
    check_inflated_size(file, len(content), len(plain))
    if not inflater.eof:
        raise CorruptFile(file, "cannot be decompressed: the compressed bytes end early")
    return plain


#: What JSON becomes in Python.
Json: TypeAlias = Any

#: Characters that are decoded at once, at first and at most. It takes less than a millisecond.
_PIECES = 1 << 9, 1 << 16
#: Memory of a value, at most, beside that of its characters: that of a dictionary with one item is
#: 230 bytes. Each value follows one of the marks, and the item of a dictionary two.
_VALUE_BYTES, _MARKS = 115, ",[{"

_AT_ONCE = json.JSONDecoder()
# Both call a function for each value that they hold; the decoder itself does so without its C part.
_object: Any = decoder.JSONObject  # type: ignore[attr-defined]
_array: Any = decoder.JSONArray  # type: ignore[attr-defined]


def parse_json(text: str | bytes, file: str) -> Json:
    """Decode a JSON text, as UTF-8 if it is bytes.

    Raises:
        CorruptFile: It is none, is nested too deeply, or takes more than a question may spend
            (OverBudgetError); the message names `file`.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode()
        return _InPieces(file).decode(decoded)
    except ValueError as error:
        raise CorruptFile(file, f"no JSON: {error}") from error
    except RecursionError as error:
        raise CorruptFile(file, "no JSON that is read: it is nested too deeply") from error


class _InPieces(json.JSONDecoder):
    """Decodes one text: what is short at once, what is long by its parts."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._spent = 0
        self.scan_once = self._value  # The name is that of the base, which calls it.

    def _value(self, text: str, start: int) -> tuple[Json, int]:
        value, end = self._decoded(text, start)
        values = sum(text.count(mark, self._spent, end) for mark in _MARKS)
        current().decoded(self._file, end - self._spent + _VALUE_BYTES * values)
        self._spent = end
        return value, end

    def _decoded(self, text: str, start: int) -> tuple[Json, int]:
        opening = text[start : start + 1]
        if opening not in {"{", "["}:
            return _AT_ONCE.raw_decode(text, start)
        for piece in _PIECES:
            with contextlib.suppress(ValueError):  # It is longer, or none.
                value, length = _AT_ONCE.raw_decode(text[start : start + piece])
                return value, start + length
        if opening == "{":
            return _object((text, start + 1), self.strict, self._value, None, None)
        return _array((text, start + 1), self._value)


_Item = TypeVar("_Item")
THREADS = 2
_ALONE = 2
REMOTE_THREADS = 16
"""For sources that mostly wait for a network."""


def iter_unordered(sources: Iterable[Iterator[_Item]], threads: int = THREADS) -> Iterator[_Item]:
    """Return all items of all sources (none is None), as they come; raise their exceptions.

    `threads` sources are read at a time, each by one thread. The next item of a source is prepared
    while the current one is processed, and no further ones: as many items as threads, and one, are
    in memory. A single source is read by the calling thread for two items: most that
    are read again after a commit have fewer, and to start a thread takes longer than they do.
    One thread is the calling one.
    """
    if threads == 1:
        for source in sources:
            yield from source
        return
    idle = deque(sources)
    if len(idle) == 1:
        for _ in range(_ALONE):
            item = next(idle[0], None)
            if item is None:
                return
            yield item
    following = in_context(next)
    making: dict[Future[_Item | None], Iterator[_Item]] = {}
    with ThreadPoolExecutor(threads, thread_name_prefix="reading") as pool:
        while idle or making:
            while idle and len(making) < threads:
                source = idle.popleft()
                making[pool.submit(following, source, None)] = source
            for made in wait(making, return_when=FIRST_COMPLETED).done:
                source = making.pop(made)
                item = made.result()
                if item is not None:
                    making[pool.submit(following, source, None)] = source
                    yield item
