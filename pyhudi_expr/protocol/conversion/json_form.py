"""Filters of the protocol as JSON, by Thrift's own protocol for it: fields by their numbers."""

from __future__ import annotations

import json

from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.protocol.TProtocol import TProtocolException, TType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.expr.frontend.common.json_input import Json
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.ttypes import Node


def filter_json(predicate: HudiExpression) -> Json:
    """Return a predicate as a value of JSON."""
    buffer = TMemoryBuffer()
    protocol, nodes = TJSONProtocol(buffer), encode(predicate)
    protocol.writeListBegin(TType.STRUCT, len(nodes))
    for node in nodes:
        node.write(protocol)
    protocol.writeListEnd()
    return json.loads(buffer.getvalue())


def read_filter(form: Json) -> HudiExpression:
    """Read what `filter_json` returned.

    Raises:
        ValueError: It is no filter.
    """
    # Thrift reads no spaces.
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    protocol = TJSONProtocol(TMemoryBuffer(text.encode()))
    nodes = []
    try:
        _, count = protocol.readListBegin()
        for _ in range(count):
            node = Node()
            node.read(protocol)
            nodes.append(node)
        protocol.readListEnd()
        return decode(nodes)
    except (TProtocolException, BadRequestError, EOFError, KeyError, TypeError) as error:
        raise ValueError(f"this is no filter: {error}") from error
