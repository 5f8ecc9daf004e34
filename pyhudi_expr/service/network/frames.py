"""One frame in, one frame out; what the first bytes of a request say without decoding it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.protocol.counted_structs import counting_protocol
from pyhudi_expr.protocol.generated import PruningService

_INT = struct.Struct("!i")
_MESSAGE = struct.Struct("!Ii")
_FIELD = struct.Struct("!bh")
_LIST_BEGIN = struct.Struct("!bi")
_STRICT_CALL = 0x80010001
_STOP, _I32, _STRING, _STRUCT, _LIST = 0, 8, 11, 12, 15
#: Bytes of the id and of the path: more are no request that a client sends.
_LONGEST = 1 << 16
_PRUNE, _METADATA, _ANNOUNCE, _INFO = b"prune", b"metadata", b"announce", b"info"
_EMPTY = _LIST_BEGIN.pack(_STRUCT, 0)
_ENDS = {
    _PRUNE: _EMPTY + _FIELD.pack(_I32, 5) + _INT.pack(1) + bytes([_STOP, _STOP]),
    _ANNOUNCE: _EMPTY + _FIELD.pack(_I32, 5) + _INT.pack(1) + bytes([_STOP, _STOP]),
    _METADATA: _EMPTY + bytes([_STOP, _STOP]),
}
"""What follows the table and the type of the filter's field in a request without filter."""

#: Memory of a decoded node, as a message, in a check and as an expression; and of a byte in lists
#: and texts of the message. Both are measured with the filters that need most.
_NODE_BYTES, _BYTE_BYTES = 700, 12


@dataclass(frozen=True)
class Head:
    """The beginning of a request.

    Attributes:
        frame: The request.
        table: The table's base path as the caller writes it; empty if it is not at its place.
        nodes: Number of nodes in its filter; of another form the most that it can have.
        without_filter: The same request without its filter, which a refusal need not decode; None
            for another form.
        is_announcement: Whether it is answered at once, whatever the table.
    """

    frame: bytes
    table: bytes
    nodes: int
    without_filter: bytes | None
    is_announcement: bool = False

    @property
    def memory(self) -> int:
        """Upper bound of the memory that the decoded request takes, in bytes."""
        return _BYTE_BYTES * len(self.frame) + _NODE_BYTES * self.nodes


class _OtherFormError(Exception):
    """The fields are not where clients of Thrift write them, or it is no request about a table."""


def head_of(frame: bytes) -> Head:
    """Return the beginning of a request; without table if its form is another one."""
    try:
        return _head(frame)
    except (struct.error, _OtherFormError):
        return Head(frame, b"", len(frame), None)


def is_about(frame: bytes, table: bytes) -> bool:
    """Return whether a request is surely about a table, or about none: it asks for the version."""
    try:
        return _method(frame) == _INFO or _head(frame).table == table
    except (struct.error, _OtherFormError):
        return False


def _method(frame: bytes) -> bytes:
    version, size = _MESSAGE.unpack_from(frame)
    if version != _STRICT_CALL or not 0 < size < _LONGEST:
        raise _OtherFormError
    return frame[_MESSAGE.size : _MESSAGE.size + size]


def _head(frame: bytes) -> Head:
    method = _method(frame)
    if method not in _ENDS:
        raise _OtherFormError
    place = _MESSAGE.size + len(method) + _INT.size
    place = _after_field(frame, place, _STRUCT, 1)
    place = _after_field(frame, place, _I32, 1) + _INT.size
    _, place = _text(frame, place, 2)
    table, place = _text(frame, place, 3)
    if method == _METADATA:
        _, place = _text(frame, place, 4)
    place = _after_field(frame, place, _LIST, 5 if method == _METADATA else 4)
    kind, nodes = _LIST_BEGIN.unpack_from(frame, place)
    if kind != _STRUCT or not 0 <= nodes <= len(frame):
        raise _OtherFormError
    return Head(frame, table, nodes, frame[:place] + _ENDS[method], method == _ANNOUNCE)


def _text(frame: bytes, place: int, number: int) -> tuple[bytes, int]:
    """Return a field's text, and the place after it."""
    place = _after_field(frame, place, _STRING, number)
    (size,) = _INT.unpack_from(frame, place)
    begin = place + _INT.size
    if not 0 <= size < _LONGEST or begin + size > len(frame):
        raise _OtherFormError
    return frame[begin : begin + size], begin + size


def _after_field(frame: bytes, place: int, kind: int, number: int) -> int:
    """Return the place after a field's type and number."""
    if _FIELD.unpack_from(frame, place) != (kind, number):
        raise _OtherFormError
    return place + _FIELD.size


#: Size of a frame's length in bytes.
HEADER_BYTES = 4


class GarbageError(ValueError):
    """The frame is not a message of the protocol."""


def process_frame(
    frame: bytes, processor: PruningService.Processor, most_items: int | None = None
) -> bytes:
    """Return the reply to a frame's message, without its size.

    Args:
        frame: The frame.
        processor: The Thrift processor.
        most_items: Of structs, and in one list, see `counting_protocol`.

    Raises:
        GarbageError: The frame is not a message of the protocol.
    """
    target = TMemoryBuffer()
    most = len(frame) if most_items is None else most_items
    protocol = counting_protocol(frame, most, most)
    try:
        processor.process(protocol, TBinaryProtocolAccelerated(target))
    except Exception as error:  # the handler's own do not get here
        raise GarbageError(f"{type(error).__name__}: {error}"[:200]) from error
    reply: bytes = target.getvalue()
    return reply


def refusal(reason: str) -> bytes:
    """Return a reply to whatever a caller asks, without its size: its call fails with the reason.

    Clients read an exception before they compare the reply with their call.
    """
    target = TMemoryBuffer()
    protocol = TBinaryProtocolAccelerated(target)
    protocol.writeMessageBegin("refused", TMessageType.EXCEPTION, 0)
    TApplicationException(TApplicationException.UNSUPPORTED_CLIENT_TYPE, reason).write(protocol)
    protocol.writeMessageEnd()
    reply: bytes = target.getvalue()
    return reply
