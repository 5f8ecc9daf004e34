"""Tables in a Hive metastore, created as its other clients create them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

_STRING, _STRUCT, _MAP, _LIST = 11, 12, 13, 15
_CALL, _REPLY = 1, 2
_TEXTS = (_STRING, "UTF8", _STRING, "UTF8", False)


class _Struct:
    """A structure of Thrift: the numbers, types and contents of its fields, and their values."""

    def __init__(self, *fields: tuple[int, int, Any, Any]) -> None:
        spec: list[Any] = [None] * (1 + max((number for number, *_ in fields), default=0))
        for number, kind, content, value in fields:
            spec[number] = (number, kind, f"f{number}", content, None)
            setattr(self, f"f{number}", value)
        self.thrift_spec = tuple(spec)

    def write(self, target: Any) -> None:
        target.writeStruct(self, self.thrift_spec)


def create_table(
    uris: str, name: str, location: Path, reader: str | None, properties: Mapping[str, str]
) -> None:
    """Create an external table; properties of readers go into its serde, as Hudi's sync does it."""
    database, _, table = name.partition(".")
    of_serde = {key: value for key, value in properties.items() if key.endswith("as.ro.table")}
    serde = _Struct((3, _MAP, _TEXTS, of_serde))
    storage = _Struct(
        (1, _LIST, (_STRUCT, [_Struct, None], False), []),
        (2, _STRING, "UTF8", location.as_uri()),
        (3, _STRING, "UTF8", reader),
        (7, _STRUCT, [_Struct, None], serde),
    )
    rest = {key: value for key, value in properties.items() if key not in of_serde}
    created = _Struct(
        (1, _STRING, "UTF8", table),
        (2, _STRING, "UTF8", database),
        (7, _STRUCT, [_Struct, None], storage),
        (8, _LIST, (_STRUCT, [_Struct, None], False), []),
        (9, _MAP, _TEXTS, {"EXTERNAL": "TRUE", **rest}),
        (12, _STRING, "UTF8", "EXTERNAL_TABLE"),
    )
    host, _, port = uris.removeprefix("thrift://").partition(":")
    transport = TBufferedTransport(TSocket(host, int(port)))
    transport.open()
    try:
        protocol = TBinaryProtocol(transport)
        protocol.writeMessageBegin("create_table", _CALL, 0)
        _Struct((1, _STRUCT, [_Struct, None], created)).write(protocol)
        protocol.writeMessageEnd()
        transport.flush()
        _, kind, _ = protocol.readMessageBegin()
        assert kind == _REPLY
        protocol.readStructBegin()
        assert protocol.readFieldBegin()[1] == 0, "the metastore refuses the table"
    finally:
        transport.close()
