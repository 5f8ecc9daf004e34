"""Filters of the protocol as texts: Thrift's binary form of their nodes, in base64."""

from __future__ import annotations

import base64

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.ttypes import Node


def filter_text(predicate: HudiExpression) -> str:
    """Return a predicate as a text in ASCII.

    Raises:
        UnicodeEncodeError: A constant is no Unicode: it has half of a surrogate pair.
    """
    buffer = TMemoryBuffer()
    protocol, nodes = TBinaryProtocol(buffer), encode(predicate)
    protocol.writeListBegin(TType.STRUCT, len(nodes))
    for node in nodes:
        node.write(protocol)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def read_filter(text: str) -> HudiExpression:
    """Read what `filter_text` returned.

    Raises:
        ValueError: It is no filter.
    """
    try:
        content = base64.b64decode(text, validate=True)
        protocol = TBinaryProtocol(TMemoryBuffer(content))
        _, count = protocol.readListBegin()
        nodes = []
        for _ in range(count):
            node = Node()
            node.read(protocol)
            nodes.append(node)
        return decode(nodes)
    except (TException, BadRequestError, EOFError, TypeError, IndexError) as error:
        raise ValueError(f"this is no filter: {error}") from error
