"""A client of the pruning service, for Python programs and tests.

What an answer proves is only as good as its being about this request, this table and no older state
than the caller's; a name in it is joined to the table's path, and must stay below it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TypeVar

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport, TTransportException

from pyhudi_expr.expr.nodes import ALWAYS, HudiExpression
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.counted_structs import counting_protocol
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION, TOKEN_PREFACE
from pyhudi_expr.protocol.generated.ttypes import (
    KeptSlices,
    MetadataRequest,
    MetadataResponse,
    PruneRequest,
    PruneResponse,
    PruneStatus,
    ServiceInfo,
)
from pyhudi_expr.tables.listing import TableView


class WrongAnswerError(TApplicationException):  # type: ignore[misc]
    """An answer that is not about the request."""

    def __init__(self, message: str) -> None:
        super().__init__(TApplicationException.PROTOCOL_ERROR, message)


def check_whose(
    request: PruneRequest | MetadataRequest, answer: PruneResponse | MetadataResponse
) -> None:
    """Check that an answer is for this request and table. Raises WrongAnswerError."""
    asked = request.requestId or "", request.basePath or ""
    if (answer.requestId, answer.basePath) != asked:
        raise WrongAnswerError(
            f"the answer is for the request {answer.requestId!r:.80} about"
            f" {answer.basePath!r:.200}, and not for {asked[0]!r} about {asked[1]!r}"
        )
    is_other = answer.status == PruneStatus.UNSUPPORTED_VERSION
    if not is_other and answer.protocolVersion != PROTOCOL_VERSION:
        raise WrongAnswerError(
            f"the answer has version {answer.protocolVersion} of the protocol, and not"
            f" {PROTOCOL_VERSION}"
        )


def check_answer(request: PruneRequest, answer: PruneResponse) -> None:
    """Check that an answer is for this request, its table and its state, and names files below it.

    Raises:
        WrongAnswerError: It is not.
    """
    check_whose(request, answer)
    if answer.status == PruneStatus.OK:
        _check_state(request, answer.instant)
        for name in _names(answer):
            if not _is_below(name):
                raise WrongAnswerError(
                    f"the answer about {request.basePath!r} names {name!r:.200}, which is not below"
                    " the table"
                )


def _check_state(request: PruneRequest, instant: str | None) -> None:
    newest, as_of = request.newestInstant, request.asOfInstant
    if as_of and instant and instant > as_of:
        raise WrongAnswerError(
            f"the answer about {request.basePath!r} is of instant {instant!r:.40}, after {as_of}"
        )
    if newest and not (as_of and newest > as_of) and (instant or "") < newest:
        raise WrongAnswerError(
            f"the answer about {request.basePath!r} is of instant {instant!r:.40}, before {newest}"
        )


def _names(answer: PruneResponse) -> Iterator[str]:
    for verdict in answer.verdicts or ():
        yield verdict.partitionPath
        yield from verdict.tokens or ()
    yield from _kept_names(answer.kept)
    for rows in answer.selectedRows or ():
        yield rows.partitionPath
        yield rows.fileName


def _kept_names(kept: KeptSlices | None) -> Iterable[str]:
    return () if kept is None else (*kept.partitions, *kept.fileIds, *kept.fileNames)


def _is_below(name: str) -> bool:
    """Return whether a name of a partition or a file, joined to the table's path, is below it."""
    return not name.startswith("/") and "\0" not in name and ".." not in name.split("/")


_T = TypeVar("_T")
_MAX_ANSWER_BYTES = 64 << 20
#: Each partition has a verdict at most. To decode one takes some microseconds.
_MAX_ANSWER_STRUCTS = 1 << 18
_PAUSE_SECONDS = 0.05
_CLOSED = (
    "closed the connection before it answered. Its log says why; perhaps it needs TLS or a"
    " certificate of the caller"
)

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)")
_SCHEMES = {"file": "", "s3a": "s3:", "s3n": "s3:"}

# The caller handles a refused connection; by itself Thrift also prints it.
logging.getLogger("thrift").addHandler(logging.NullHandler())


def services_for(base_path: str, addresses: Sequence[str]) -> list[str]:
    """Return services in the order in which to call them about a table.

    It is the order of the storage handler (`ServiceOrder.TABLE`), so a table's first service has it
    in memory: by the SHA-256 of "address NUL table", the greatest first (rendezvous hashing). A
    service that is added to N - 1 others, or removed from N, changes the first one of about one
    table in N.

    Args:
        base_path: The table's base path. How its slashes are repeated, `s3a` for `s3`, and `file:`
            for a local path make no difference.
        addresses: The services as "host:port", IPv6 without brackets.
    """
    uri = _URI.fullmatch(base_path)
    scheme, path = uri.groups() if uri else ("", base_path)
    scheme = _SCHEMES.get(scheme, f"{scheme}:") if uri else ""
    table = f"{scheme}/" + "/".join(filter(None, path.split("/")))

    def weight(address: str) -> bytes:
        return hashlib.sha256(f"{address}\0{table}".encode()).digest()

    return sorted(addresses, key=weight, reverse=True)


class PruningClient:
    """One connection, for one thread at a time; connects at the first call.

    Calls raise `thrift.Thrift.TException` or OSError if the service does not answer in time, or
    refuses the caller (its message then says why). The connection is then closed, and the next call
    opens another one.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9099,
        timeout: float = 2.0,
        *,
        tls: ssl.SSLContext | None = None,
        token: str | None = None,
    ) -> None:
        """Take the address; nothing is connected yet.

        Args:
            host: The service's host.
            port: The service's port.
            timeout: Seconds that a call may take, from connecting to the whole answer.
            tls: How to connect to a service with TLS.
            token: The service's token.
        """
        self._address = f"{host}:{port}"
        self._preface = (TOKEN_PREFACE + token).encode() if token else None
        self._timeout = timeout
        self._socket = _TlsSocket(host, port, tls) if tls else _Socket(host, port)
        self._transport = TFramedTransport(self._socket, _MAX_ANSWER_BYTES)
        self._calls = PruningService.Client(TBinaryProtocolAccelerated(self._transport))

    def info(self) -> ServiceInfo:
        """Return the service's version and protocol version."""
        with self._connected():
            self._calls.send_info()
            return self._answer(PruningService.Client.recv_info)

    def prune(
        self,
        base_path: str,
        predicate: HudiExpression,
        *,
        view: TableView = TableView.SNAPSHOT,
        semantics: Semantics = UNKNOWN_SEMANTICS,
        as_of: str | None = None,
        newest_instant: str | None = None,
    ) -> PruneResponse:
        """Return which of the table's files cannot match."""
        request = ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId=str(uuid.uuid4()),
            basePath=base_path,
            filter=encode(predicate),
            view=ttypes.TableView._NAMES_TO_VALUES[view.name],
            semantics=encode_semantics(semantics),
            asOfInstant=as_of,
            newestInstant=newest_instant,
        )
        return self.send(request)

    def metadata(
        self,
        base_path: str,
        view: str,
        predicate: HudiExpression = ALWAYS,
        *,
        semantics: Semantics = UNKNOWN_SEMANTICS,
        columns: Sequence[str] | None = None,
    ) -> MetadataResponse:
        """Return rows that describe a table: its files, history, indexes or column_ranges."""
        request = ttypes.MetadataRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId=str(uuid.uuid4()),
            basePath=base_path,
            view=view,
            filter=encode(predicate),
            semantics=encode_semantics(semantics),
            columns=columns,
        )
        with self._connected():
            self._calls.send_metadata(request)
            answer = self._answer(PruningService.Client.recv_metadata)
            check_whose(request, answer)
            return answer

    def announce(self, base_path: str, predicate: HudiExpression) -> int:
        """Say that a question will follow; return a `PruneStatus`."""
        request = ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId=str(uuid.uuid4()),
            basePath=base_path,
            filter=encode(predicate),
            view=ttypes.TableView.SNAPSHOT,
        )
        with self._connected():
            self._calls.send_announce(request)
            return int(self._answer(PruningService.Client.recv_announce))

    def send(self, request: ttypes.PruneRequest) -> PruneResponse:
        """Return the response to a request; a wrong one raises, see `answer_checks`."""
        with self._connected():
            self._calls.send_prune(request)
            answer = self._answer(PruningService.Client.recv_prune)
            check_answer(request, answer)
            return answer

    def wait_until_ready(self, seconds: float = 30.0) -> ServiceInfo:
        """Retry until the service answers. Raises TimeoutError if it does not."""
        end = time.monotonic() + seconds
        reason: Exception | None = None
        while time.monotonic() < end:
            try:
                return self.info()
            except (TException, OSError, EOFError) as error:
                reason = error
            time.sleep(_PAUSE_SECONDS)
        raise TimeoutError(
            f"the pruning service does not answer within {seconds} s: {reason}"
        ) from reason

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._transport.close()

    def __enter__(self) -> PruningClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, receive: Callable[[PruningService.Client], _T]) -> _T:
        """Receive an answer: as a whole first, so that no list in it is larger than its frame."""
        self._transport.readFrame()
        frame = self._transport.cstringio_buf.getvalue()
        try:
            protocol = counting_protocol(frame, _MAX_ANSWER_STRUCTS, len(frame))
            return receive(PruningService.Client(protocol))
        except (ValueError, TypeError, OverflowError, EOFError) as error:
            raise WrongAnswerError(f"no message of the protocol: {error!r:.200}") from error

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        self._socket.begin(self._timeout)
        is_new = not self._transport.isOpen()
        if is_new:
            self._transport.open()
        try:
            if is_new and self._preface is not None:
                self._transport.write(self._preface)
                self._transport.flush()
            yield
        except TApplicationException as error:
            self._transport.close()
            raise TApplicationException(error.type, f"{self._address}: {error.message}") from error
        except (TTransportException, OSError, EOFError) as error:
            self._transport.close()
            if is_new and _is_closed_by_service(error):
                raise TTransportException(
                    TTransportException.END_OF_FILE, f"{self._address} {_CLOSED}: {error}"
                ) from error
            raise
        except BaseException:
            self._transport.close()
            raise


def _is_closed_by_service(error: Exception) -> bool:
    """Return whether the service closed the connection, and not the time was up."""
    if isinstance(error, TTransportException):
        if error.type == TTransportException.END_OF_FILE:
            return True
        error = error.inner or error  # of Thrift's "unexpected exception"
    return isinstance(error, ConnectionError | EOFError | ssl.SSLError)


class _Socket(TSocket):  # type: ignore[misc]
    """A socket with a time limit for all that it sends and receives, however it comes in pieces."""

    handle: socket.socket | None

    def begin(self, seconds: float) -> None:
        """Begin a call, which may take so many seconds."""
        self._end = time.monotonic() + seconds
        self.setTimeout(seconds * 1000)

    def read(self, sz: int) -> bytes:
        """Receive some bytes. Raises TTransportException."""
        self._limit()
        received: bytes = super().read(sz)
        return received

    def write(self, buff: bytes) -> None:
        """Send bytes. Raises TTransportException."""
        self._limit()
        super().write(buff)

    def _limit(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TTransportException(TTransportException.TIMED_OUT, "the call's time is over")
        self.setTimeout(left * 1000)


class _TlsSocket(_Socket):
    """A TLS socket that can be closed before it is open, which Thrift's own cannot."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        super().__init__(host, port)
        self._context = context

    def open(self) -> None:
        super().open()
        try:
            assert self.handle is not None
            self.handle = self._context.wrap_socket(self.handle, server_hostname=self.host)
        except OSError as error:
            self.close()
            message = f"no TLS connection to {self.host}:{self.port}: {error}"
            raise TTransportException(TTransportException.NOT_OPEN, message) from error
