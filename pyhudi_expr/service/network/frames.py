"""One frame in, one frame out: process a message of the strict binary protocol."""

from __future__ import annotations

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.protocol.counted_structs import counting_protocol
from pyhudi_expr.protocol.generated import PruningService

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
