"""The columns of decoded Avro records, their schemas, and decoding in the compiled kernel.

A schema is compiled once into a program for `mdt.bytes.kernel.c`: nodes of 32-bit integers, each an
operation and its operands, which include the slots (output arrays) of the values. Every slot has
one element for each record, or for maps one for each entry. A union's slot holds the branch taken,
counted from 1; it is zero where the record did not reach it. Elements of other slots that no record
reaches are never written, nor read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import Int32Array, Int64Array
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.parsing.avro_schemas import (
    AvroSchema,
    UndecodedError,
    branch_name,
    named_types,
    refuse_empty,
    simple,
)
from pyhudi_expr.tables.parsing.budget import parse_json


@dataclass(frozen=True)
class Numbers:
    """Integers (int64), floats (float64) or booleans, one for each row."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Texts:
    """Strings (as UTF-8) or bytes, one for each row."""

    values: ByteStrings


@dataclass(frozen=True)
class Struct:
    """A record: its fields by name, all with the same rows."""

    fields: dict[str, Column]


@dataclass(frozen=True)
class Branch:
    """The rows of a union that took one branch, ascending, and their values.

    Attributes:
        name: The branch's type; for a record its name without namespace.
    """

    name: str
    rows: Int64Array
    column: Column


@dataclass(frozen=True)
class Union:
    """A union: its branches that occur, without nulls.

    Attributes:
        size: The number of rows.
    """

    size: int
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class Entries:
    """Maps: all entries of all rows, ascending by row; entry i belongs to row `rows[i]`."""

    rows: Int64Array
    key: Texts
    value: Column


@dataclass(frozen=True)
class Skipped:
    """Arrays, which are skipped."""


Column: TypeAlias = Numbers | Texts | Struct | Union | Entries | Skipped | None
"""None: nulls only."""


@lru_cache(maxsize=64)
def parsed(schema: str) -> tuple[AvroSchema, Mapping[str, Any]]:
    """Return the schema, and its named types by their names without namespace.

    Raises:
        UndecodedError: It is no schema, or a few bytes may hold any number of values.
    """
    try:
        root = parse_json(schema, "an Avro schema")
        refuse_empty(root)
        return root, named_types(root)
    except (CorruptFile, KeyError, TypeError, RecursionError) as error:
        raise UndecodedError(f"no Avro schema: {error!r}") from error


_NULL, _BOOLEAN, _LONG, _FLOAT, _DOUBLE, _BYTES, _FIXED, _RECORD, _UNION, _ARRAY, _MAP = range(11)
_NUMBERS: dict[str, tuple[int, type[np.generic]]] = {
    "boolean": (_BOOLEAN, np.uint8),
    "int": (_LONG, np.int64),
    "long": (_LONG, np.int64),
    "enum": (_LONG, np.int64),
    "float": (_FLOAT, np.float64),
    "double": (_DOUBLE, np.float64),
}
_REASONS = {
    -1: "a record ends within a field",
    -2: "a number is too long",
    -3: "a union has no such branch",
    -4: "a text of negative length",
    -5: "a record is longer than its fields",
}
_RECORDS = 0
"""The domain of slots with one element for each record; every map has one of its own."""
_NOWHERE = -1
_MAX_PROGRAM = 1 << 16
_MAX_BRANCHES = 254


@dataclass(frozen=True)
class _NumberAt:
    slot: int
    is_boolean: bool


@dataclass(frozen=True)
class _TextAt:
    slot: int


@dataclass(frozen=True)
class _StructOf:
    fields: dict[str, _Shape]


@dataclass(frozen=True)
class _UnionOf:
    slot: int
    branches: tuple[tuple[str, _Shape], ...]


@dataclass(frozen=True)
class _MapOf:
    domain: int
    parent_slot: int
    key: _TextAt
    value: _Shape


@dataclass(frozen=True)
class _Ignored:
    """An array, which is skipped."""


_Shape: TypeAlias = _NumberAt | _TextAt | _StructOf | _UnionOf | _MapOf | _Ignored | None


@dataclass
class _Compiler:
    """Writes a schema's program. Named types are expanded wherever they are used."""

    named: Mapping[str, Any]
    selected: frozenset[str] | None
    program: list[int] = field(default_factory=list)
    slots: list[tuple[int, type[np.generic]]] = field(default_factory=list)
    """Domain and element type of each slot."""
    domains: int = 1
    within: list[str] = field(default_factory=list)

    def node(self, schema: AvroSchema, domain: int) -> tuple[int, _Shape]:
        """Compile a schema; return the position of its node, and the slots of its values."""
        if isinstance(schema, list):
            return self._union(schema, domain)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.node(kind, domain)
        if kind in _NUMBERS:
            operation, element = _NUMBERS[kind]
            slot = self._slot(domain, element)
            return self._emit(operation, slot), _NumberAt(slot, kind == "boolean")
        match kind:
            case "null":
                return self._emit(_NULL), None
            case "record":
                return self._record(schema, domain)
            case "bytes" | "string":
                text = self._text(domain)
                return self._emit(_BYTES, text.slot), text
            case "fixed":
                text = self._text(domain)
                return self._emit(_FIXED, text.slot, int(schema["size"])), text
            case "array":
                item, _ = self.node(schema["items"], _NOWHERE)
                return self._emit(_ARRAY, _NOWHERE, _NOWHERE, item), _Ignored()
            case "map":
                return self._map(schema, domain)
        if simple(kind) in self.named:
            return self.node(self.named[simple(kind)], domain)
        raise UndecodedError(f"values of type {kind} are not decoded by columns")

    def _record(self, schema: AvroSchema, domain: int) -> tuple[int, _Shape]:
        name = schema["name"]
        if name in self.within:
            raise UndecodedError(f"the type {name} holds itself")
        self.within.append(name)
        is_root = len(self.within) == 1
        nodes, shapes = [], {}
        for member in schema["fields"]:
            if is_root and self.selected is not None and member["name"] not in self.selected:
                node, _ = self.node(member["type"], _NOWHERE)
            else:
                node, shapes[member["name"]] = self.node(member["type"], domain)
            nodes.append(node)
        self.within.pop()
        return self._emit(_RECORD, len(nodes), *nodes), _StructOf(shapes)

    def _union(self, schema: list[Any], domain: int) -> tuple[int, _Shape]:
        if len(schema) > _MAX_BRANCHES:
            raise UndecodedError(f"a union of {len(schema)}")
        compiled = [(branch_name(branch), *self.node(branch, domain)) for branch in schema]
        slot = self._slot(domain, np.uint8)
        nodes = [node for _, node, _ in compiled]
        shape = _UnionOf(slot, tuple((name, shape) for name, _, shape in compiled))
        return self._emit(_UNION, slot, len(nodes), *nodes), shape

    def _map(self, schema: AvroSchema, domain: int) -> tuple[int, _Shape]:
        own = _NOWHERE
        if domain != _NOWHERE:
            own, self.domains = self.domains, self.domains + 1
        parent, key = self._slot(own, np.int64), self._text(own)
        value, shape = self.node(schema["values"], own)
        return self._emit(_MAP, own, parent, key.slot, value), _MapOf(own, parent, key, shape)

    def _text(self, domain: int) -> _TextAt:
        start = self._slot(domain, np.int64)
        self._slot(domain, np.int64)
        return _TextAt(start)

    def _slot(self, domain: int, element: type[np.generic]) -> int:
        if domain == _NOWHERE:
            return _NOWHERE
        self.slots.append((domain, element))
        return len(self.slots) - 1

    def _emit(self, *code: int) -> int:
        if len(self.program) > _MAX_PROGRAM:
            raise UndecodedError("the schema is too large")
        self.program.extend(code)
        return len(self.program) - len(code)


@dataclass(frozen=True)
class _Program:
    code: Int32Array
    root: int
    slots: tuple[tuple[int, type[np.generic]], ...]
    domains: int
    shape: _StructOf


@lru_cache(maxsize=64)
def _compiled(schema: str, selected: frozenset[str] | None) -> _Program:
    root, named = parsed(schema)
    compiler = _Compiler(named, selected)
    node, shape = compiler.node(root, _RECORDS)
    if not isinstance(shape, _StructOf):
        raise UndecodedError("the schema is not a record's")
    code = np.array(compiler.program, np.int32)
    return _Program(code, node, tuple(compiler.slots), compiler.domains, shape)


def decode(
    library: kernel.Kernel, schema: str, values: ByteStrings, selected: frozenset[str] | None
) -> Struct:
    """Decode records in the kernel, see `columns.decode_columns`."""
    program = _compiled(schema, selected)
    rows = [len(values)] + [0] * (program.domains - 1)
    slots, found = _run(library, program, values, rows)
    if found != rows:
        # The number of the maps' entries is known only now.
        slots, _ = _run(library, program, values, found)
    built = _Builder(slots, values.data, found).column(program.shape, None)
    assert isinstance(built, Struct)
    return built


def _run(
    library: kernel.Kernel, program: _Program, values: ByteStrings, rows: list[int]
) -> tuple[list[npt.NDArray[Any]], list[int]]:
    """Run a program; return the slots, with room for `rows` elements, and their used sizes."""
    slots, outputs = _allocated(program, rows)
    capacity, count = np.array(rows, np.int64), np.zeros(program.domains, np.int64)
    count[_RECORDS] = len(values)
    failed = np.zeros(1, np.int64)
    status = library.kernel_avro(
        *values.pointers(),
        len(values),
        kernel.pointer(program.code),
        len(program.code),
        program.root,
        kernel.pointer(outputs),
        kernel.pointer(capacity),
        kernel.pointer(count),
        kernel.pointer(failed),
    )
    if status:
        reason = _REASONS.get(status, f"the kernel gives up ({status})")
        raise UndecodedError(f"{reason} (record {int(failed[0])})")
    return slots, [int(number) for number in count]


def _allocated(
    program: _Program, rows: list[int]
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.uintp]]:
    """Allocate the slots, and return their addresses.

    Most slots are of branches that no record takes, so only the slots of the branches taken are
    zeroed.
    """
    slots: dict[int, npt.NDArray[Any]] = {}
    outputs = np.zeros(len(program.slots), np.uintp)
    for domain, element in dict.fromkeys(program.slots):
        alike = [number for number, slot in enumerate(program.slots) if slot == (domain, element)]
        shape = (len(alike), rows[domain])
        block = np.zeros(shape, element) if element is np.uint8 else np.empty(shape, element)
        outputs[alike] = block.ctypes.data + np.arange(len(alike)) * block[0].nbytes
        slots.update(zip(alike, block, strict=True))
    return [slots[number] for number in range(len(slots))], outputs


@dataclass(frozen=True)
class _Builder:
    """Builds columns from slots."""

    slots: list[npt.NDArray[Any]]
    data: bytes
    sizes: list[int]

    def column(self, shape: _Shape, rows: Int64Array | None) -> Column:
        """Return the column of the elements at `rows` (None: all)."""
        match shape:
            case _NumberAt(slot=slot, is_boolean=is_boolean):
                values = self._at(slot, rows)
                return Numbers(values.astype(np.bool_) if is_boolean else values)
            case _TextAt(slot=slot):
                return Texts(self._text(slot, rows))
            case _StructOf(fields=fields):
                return Struct({name: self.column(own, rows) for name, own in fields.items()})
            case _UnionOf():
                return self._union(shape, rows)
            case _MapOf():
                return self._map(shape, rows)
            case _Ignored():
                return Skipped()
            case None:
                return None

    def _union(self, shape: _UnionOf, rows: Int64Array | None) -> Union:
        taken = self._at(shape.slot, rows)
        counts = np.bincount(taken)
        found = []
        for number in np.flatnonzero(counts).tolist():
            name, own = shape.branches[number - 1]
            if own is None:
                continue
            if counts[number] == len(taken):
                chosen, inside = np.arange(len(taken), dtype=np.int64), rows
            else:
                chosen = np.flatnonzero(taken == number)
                inside = chosen if rows is None else rows[chosen]
            found.append(Branch(name, chosen, self.column(own, inside)))
        return Union(len(taken), tuple(found))

    def _map(self, shape: _MapOf, rows: Int64Array | None) -> Entries:
        parent = self.slots[shape.parent_slot]
        key = Texts(self._text(shape.key.slot, None))
        if rows is not None:
            parent = np.searchsorted(rows, parent)
        return Entries(parent, key, self.column(shape.value, None))

    def _text(self, slot: int, rows: Int64Array | None) -> ByteStrings:
        return ByteStrings(self.data, self._at(slot, rows), self._at(slot + 1, rows))

    def _at(self, slot: int, rows: Int64Array | None) -> npt.NDArray[Any]:
        values = self.slots[slot]
        return values if rows is None else values[rows]
