"""Schemas of Avro records, and which of them are not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

#: A schema as JSON: the name of a type, a list of branches, or a mapping.
AvroSchema: TypeAlias = Any
#: A decoded value: of a record a dictionary.
AvroValue: TypeAlias = Any

_NAMED = ("record", "fixed", "enum")
_UNNAMED = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
)
#: The parts of a type that are types.
_PARTS = ("type", "items", "values")
#: In place of the dots of a full name; no name has it.
_BETWEEN = "\x1f"


class UndecodedError(ValueError):
    """The records are damaged, or not supported here; the message says which."""


def simple(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(".")[2]


def branch_name(schema: AvroSchema) -> str:
    """Return the name of a union's branch: its type, or a named type's name without namespace."""
    if isinstance(schema, dict):
        schema = schema.get("name", schema["type"])
    return simple(schema) if isinstance(schema, str) else ""


def apart(schema: AvroSchema) -> AvroSchema:
    """Return a schema in which no two types have one name without namespace.

    Hudi names the fixed type of each decimal column alike, in a namespace for each column. Such
    names become full ones, without dots: `full_name` returns them.
    """
    counts = Counter(simple(node["name"]) for node in _definitions(schema))
    return _apart(schema, "") if counts and max(counts.values()) > 1 else schema


def _apart(schema: AvroSchema, space: str) -> AvroSchema:
    match schema:
        case str():
            return schema if schema in _UNNAMED or schema in _NAMED else _full(schema, space)
        case list():
            return [_apart(branch, space) for branch in schema]
        case {"type": kind, "name": str(name)} if kind in _NAMED:
            full = _full(name, str(schema.get("namespace", space)))
            inner = full.rpartition(_BETWEEN)[0].replace(_BETWEEN, ".")
            fields = [
                {**one, "type": _apart(one["type"], inner)} for one in schema.get("fields", ())
            ]
            own = {key: value for key, value in schema.items() if key != "namespace"}
            return {**own, "name": full, **({"fields": fields} if "fields" in schema else {})}
        case dict():
            parts = {key: _apart(schema[key], space) for key in _PARTS if key in schema}
            return {**schema, **parts}
    return schema


def _full(name: str, space: str) -> str:
    full = f"{space}.{name}" if space and "." not in name else name
    return full.replace(".", _BETWEEN)


def full_name(name: str, space: str) -> str:
    """Return the full name of a type within a namespace."""
    return name.replace(_BETWEEN, ".") if _BETWEEN in name or not space else f"{space}.{name}"


def named_types(schema: AvroSchema) -> Mapping[str, Any]:
    """Return the types that the schema defines, by their names without namespace.

    Raises:
        UndecodedError: Two types have one name.
    """
    named: dict[str, Any] = {}
    for node in _definitions(schema):
        name = simple(node["name"])
        if named.setdefault(name, node) is not node:
            raise UndecodedError(f"two types are named {name}")
    return named


def refuse_empty(schema: AvroSchema) -> None:
    """Check that no few bytes may hold any number of values.

    The length of an array is a number in the data, and records consist of records. Without this
    check 2**60 items of no size would be read one by one. All of Hudi's records take at least one
    byte.

    Raises:
        UndecodedError: A type takes no bytes.
    """
    empty: dict[str, bool] = {}
    named = {simple(node["name"]): node for node in _definitions(schema)}
    for node in _types(schema):
        repeated = {"record": node, "array": node.get("items")}.get(str(node.get("type")))
        if repeated is not None and _is_empty(repeated, named, empty):
            raise UndecodedError("the schema has values that may be many in no bytes")


def _is_empty(schema: AvroSchema, named: Mapping[str, Any], empty: dict[str, bool]) -> bool:
    """Return whether values of the schema take no bytes; `empty` has the named types so far.

    A record that holds itself, but for a union, has no values, and counts as empty.
    """
    match schema:
        case "null":
            return True
        case str():
            node = named.get(simple(schema))
            return node is not None and _is_empty(node, named, empty)
        case {"type": "record", "fields": fields}:
            name = simple(str(schema.get("name")))
            if name not in empty:
                empty[name] = True
                empty[name] = all(_is_empty(field["type"], named, empty) for field in fields)
            return empty[name]
        case {"type": "fixed", "size": size}:
            return not size
        case {"type": kind}:
            return _is_empty(kind, named, empty)
    return False


def _definitions(schema: AvroSchema) -> Iterator[dict[str, Any]]:
    """Return the parts of the schema that define a named type."""
    for node in _types(schema):
        if node.get("type") in _NAMED and isinstance(node.get("name"), str):
            yield node


def _types(schema: AvroSchema) -> Iterator[dict[str, Any]]:
    """Return every part of the schema that is an object, including the fields of records."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        if isinstance(node, dict | list):
            children = node.values() if isinstance(node, dict) else node
            waiting.extend(child for child in children if isinstance(child, dict | list))
