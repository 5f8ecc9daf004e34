"""Avro files (Avro specification, "Object Container Files"), decompressed within limits."""

from __future__ import annotations

from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.tables.parsing.avro_schemas import AvroValue
from pyhudi_expr.tables.parsing.avro_values import bytes_at, number_at, record_reader
from pyhudi_expr.tables.parsing.inflating import RAW, inflate
from pyhudi_expr.tables.parsing.json_texts import parse_json

MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_META = record_reader({"type": "map", "values": "bytes"})


def first_record(content: bytes, file: str) -> AvroValue:
    """Return the first record of an Avro file, with values of logical types as stored.

    Returns:
        None if the file has no record.

    Raises:
        CorruptFile: It is damaged, or costs more than a question may spend.
        UnsupportedTable: It is compressed in another way than Avro's own.
    """
    try:
        meta, at = _META.decoder(content, len(MAGIC))
        reader = record_reader(parse_json(meta["avro.schema"], file))
        at += _SYNC_BYTES
        if at == len(content):
            return None
        count, at = number_at(content, at)
        block, at = bytes_at(content, at)
    except (KeyError, IndexError, ValueError, RecursionError) as error:
        raise CorruptFile(file, f"not an Avro file: {error!r}") from error
    match meta.get("avro.codec", b"null"):
        case b"null":
            pass
        case b"deflate":
            block = inflate(block, RAW, file)
        case codec:
            raise UnsupportedTable(f"{file}: Avro's codec {codec!r} is not read (null, deflate)")
    return reader.read(block, file) if count > 0 else None
