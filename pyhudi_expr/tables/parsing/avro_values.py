"""Avro records as Python values (Avro specification, "Binary encoding"), and files of them.

A decoder in C holds the interpreter for as long as a crafted record likes, and ends the process
where records hold each other too deeply. This one takes as long as such a library does with real
records, lets other threads run meanwhile, and draws on the question's budget.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.tables.parsing.avro_schemas import (
    AvroSchema,
    AvroValue,
    UndecodedError,
    apart,
    branch_name,
    full_name,
    named_types,
    refuse_empty,
    simple,
)
from pyhudi_expr.tables.parsing.budget import RAW, OverBudgetError, current, inflate, parse_json

#: Decodes the value at a position of the bytes; returns it, and the position behind it.
Decoder: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
OfType: TypeAlias = Callable[[AvroSchema, Decoder], Decoder]
"""Returns the decoder of a type in the form that a caller wants, from the plain one."""
OfBranch: TypeAlias = Callable[[str, Decoder], Decoder]
"""The same for records in a union with other records, from their full name."""

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_MAX_SHIFT = 63
#: Items between two looks at the budget, and memory of a Python value.
_ITEMS_AT_ONCE, _VALUE_BYTES = 256, 64
_DECIMAL_DIGITS = decimal.Context(prec=decimal.MAX_PREC)
#: Of vectors, the codes of `struct` by Hudi's names of types.
_ELEMENTS = {"FLOAT": "f", "DOUBLE": "d", "INT8": "b"}


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """Decode an int or a long. Raises IndexError and UndecodedError."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 0x7F, 7
    while byte >= 0x80:
        if shift > _MAX_SHIFT:
            raise UndecodedError("a number is too long")
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at + 1


def bytes_at(data: bytes, at: int) -> tuple[bytes, int]:
    """Decode bytes. Raises IndexError and UndecodedError."""
    size, at = number_at(data, at)
    end = at + size
    if size < 0 or end > len(data):
        raise UndecodedError(f"{size} bytes are wanted, and {len(data) - at} are left")
    return data[at:end], end


def text_at(data: bytes, at: int) -> tuple[str, int]:
    """Decode a text. Raises IndexError and UndecodedError."""
    content, at = bytes_at(data, at)
    return content.decode(), at


def _null_at(_data: bytes, at: int) -> tuple[None, int]:
    return None, at


def _boolean_at(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def _float_at(data: bytes, at: int) -> tuple[float, int]:
    return _FLOAT.unpack_from(data, at)[0], at + _FLOAT.size


def _double_at(data: bytes, at: int) -> tuple[float, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + _DOUBLE.size


_PRIMITIVES: Mapping[str, Decoder] = {
    "null": _null_at,
    "boolean": _boolean_at,
    "int": number_at,
    "long": number_at,
    "float": _float_at,
    "double": _double_at,
    "bytes": bytes_at,
    "string": text_at,
}


def raw(_schema: AvroSchema, decoder: Decoder) -> Decoder:
    """Leave values of logical types integers and bytes."""
    return decoder


def unnamed(_name: str, decoder: Decoder) -> Decoder:
    """Leave it to the values of which branch of a union they are."""
    return decoder


def with_name(name: str, decoder: Decoder) -> Decoder:
    """Return records of a union with their full name: (name, record)."""

    def named_at(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        value, at = decoder(data, at)
        return (name, value), at

    return named_at


def with_numbers(schema: AvroSchema, decoder: Decoder) -> Decoder:
    """Return decimals as such, and Hudi's vectors as tuples of their elements."""
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical == "vector":
        elements = struct.Struct(f"<{schema['dimension']}{_ELEMENTS[schema['elementType']]}")

        def vector_at(data: bytes, at: int) -> tuple[tuple[float, ...], int]:
            content, at = decoder(data, at)
            return elements.unpack(content), at

        return vector_at
    if logical != "decimal":
        return decoder
    scale = int(schema.get("scale", 0))

    def decimal_at(data: bytes, at: int) -> tuple[decimal.Decimal, int]:
        content, at = decoder(data, at)
        unscaled = decimal.Decimal(int.from_bytes(content, "big", signed=True))
        return unscaled.scaleb(-scale, _DECIMAL_DIGITS), at

    return decimal_at


@dataclass(frozen=True)
class RecordReader:
    """Decodes records of one schema. `record_reader` makes it."""

    decoder: Decoder

    def read(self, content: bytes, file: str) -> AvroValue:
        """Decode the record of which the content consists.

        Raises:
            CorruptFile: It is damaged, ends before the content does, or costs more than the
                question may spend.
        """
        value, end = self.first(content, file)
        if end < len(content):
            raise CorruptFile(file, f"a record ends {len(content) - end} bytes too early")
        return value

    def first(self, content: bytes, file: str) -> tuple[AvroValue, int]:
        """Decode the record at the beginning of the content, and return where it ends.

        Raises:
            CorruptFile: As for `read`.
        """
        try:
            return self.decoder(content, 0)
        except OverBudgetError as error:
            raise OverBudgetError(file, error.reason) from error
        except (ValueError, ArithmeticError, IndexError, RecursionError, struct.error) as error:
            raise CorruptFile(file, f"a record cannot be decoded: {error!r}") from error


def record_reader(
    schema: AvroSchema, of_type: OfType = raw, of_branch: OfBranch = unnamed
) -> RecordReader:
    """Return the reader of records that were written with a schema.

    Raises:
        UndecodedError: It is no schema, or a few bytes may hold any number of values.
    """
    try:
        schema = apart(schema)
        refuse_empty(schema)
        return RecordReader(_Compiler(named_types(schema), of_type, of_branch).decoder(schema, ""))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UndecodedError(f"no Avro schema: {error!r}") from error


@dataclass(frozen=True)
class _Compiler:
    """Makes the decoders of a schema's types, one for each named type."""

    named: Mapping[str, Any]
    of_type: OfType
    of_branch: OfBranch
    known: dict[str, Decoder] = field(default_factory=dict)
    full_names: dict[str, str] = field(default_factory=dict)

    def decoder(self, schema: AvroSchema, space: str) -> Decoder:
        """Return the decoder of a type within a namespace."""
        if isinstance(schema, list):
            return self._union(schema, space)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.decoder(kind, space)
        if kind in _PRIMITIVES:
            return self.of_type(schema, _PRIMITIVES[kind])
        match kind:
            case "array":
                item = self.decoder(schema["items"], space)
                return _array_of(item, self._memory_of(schema["items"]))
            case "map":
                value = self.decoder(schema["values"], space)
                return _map_of(value, self._memory_of(schema["values"]))
            case "record" | "fixed" | "enum":
                return self._named(schema, space)
        if simple(kind) not in self.named:
            raise UndecodedError(f"no type is named {kind}")
        return self._named(self.named[simple(kind)], space)

    def _named(self, schema: AvroSchema, space: str) -> Decoder:
        name = simple(schema["name"])
        if name not in self.known:
            # A record may hold itself, and its own decoder is known only later.
            self.known[name] = lambda data, at: self.known[name](data, at)
            space = schema["name"].rpartition(".")[0] or schema.get("namespace", space)
            self.full_names[name] = full_name(name, space)
            self.known[name] = self.of_type(schema, self._of_named(schema, space))
        return self.known[name]

    def _of_named(self, schema: AvroSchema, space: str) -> Decoder:
        match schema["type"]:
            case "record":
                fields = [
                    (one["name"], self.decoder(one["type"], space)) for one in schema["fields"]
                ]
                return _record_of(fields)
            case "fixed":
                return _fixed_of(int(schema["size"]))
        return _enum_of(schema["symbols"])

    def _union(self, branches: list[Any], space: str) -> Decoder:
        decoders = [self.decoder(branch, space) for branch in branches]
        records = [at for at, branch in enumerate(branches) if self._is_record(branch)]
        if len(records) > 1:
            for at in records:
                name = self.full_names[branch_name(branches[at])]
                decoders[at] = self.of_branch(name, decoders[at])
        return _union_of(decoders)

    def _is_record(self, branch: AvroSchema) -> bool:
        node = self.named.get(branch_name(branch))
        return node is not None and node["type"] == "record"

    def _memory_of(self, schema: AvroSchema) -> int:
        """Return about the memory of one item: that of a record's own fields, or of one value."""
        node = self.named.get(branch_name(schema)) if isinstance(schema, dict | str) else None
        return _VALUE_BYTES * (1 + len(node.get("fields", ())) if node else 1)


def _record_of(fields: Sequence[tuple[str, Decoder]]) -> Decoder:
    def record_at(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        found = {}
        for name, decoder in fields:
            found[name], at = decoder(data, at)
        return found, at

    return record_at


def _union_of(decoders: Sequence[Decoder]) -> Decoder:
    def branch_at(data: bytes, at: int) -> tuple[Any, int]:
        number, at = number_at(data, at)
        if not 0 <= number < len(decoders):
            raise UndecodedError("a union has no such branch")
        return decoders[number](data, at)

    return branch_at


def _fixed_of(size: int) -> Decoder:
    def fixed_at(data: bytes, at: int) -> tuple[bytes, int]:
        if len(data) < at + size:
            raise UndecodedError(f"{size} bytes are wanted, and {len(data) - at} are left")
        return data[at : at + size], at + size

    return fixed_at


def _enum_of(symbols: Sequence[str]) -> Decoder:
    def symbol_at(data: bytes, at: int) -> tuple[str, int]:
        number, at = number_at(data, at)
        if not 0 <= number < len(symbols):
            raise UndecodedError("an enum has no such symbol")
        return symbols[number], at

    return symbol_at


def _array_of(item: Decoder, memory: int) -> Decoder:
    def array_at(data: bytes, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        count, at = _count_at(data, at)
        while count:
            for done in range(count):
                if done % _ITEMS_AT_ONCE == 0:
                    _spend(min(count - done, _ITEMS_AT_ONCE) * memory)
                value, at = item(data, at)
                found.append(value)
            count, at = _count_at(data, at)
        return found, at

    return array_at


def _map_of(value: Decoder, memory: int) -> Decoder:
    def map_at(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        count, at = _count_at(data, at)
        while count:
            for done in range(count):
                if done % _ITEMS_AT_ONCE == 0:
                    _spend(min(count - done, _ITEMS_AT_ONCE) * memory)
                key, at = text_at(data, at)
                found[key], at = value(data, at)
            count, at = _count_at(data, at)
        return found, at

    return map_at


def _count_at(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of items in a block; a negative one is followed by the block's size."""
    count, at = number_at(data, at)
    if count < 0:
        _, at = number_at(data, at)
    return abs(count), at


def _spend(memory: int) -> None:
    current().decoded("a record", memory)


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
    if count > 1:
        return reader.first(block, file)[0]
    return reader.read(block, file) if count == 1 else None
