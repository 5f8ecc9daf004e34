"""Nodes of Catalyst's trees: the types of their values, and expressions that are evaluated once.

``With(child, definition)``: in the child, ``CommonExpressionRef`` is the definition's value. The
JSON form does not have the identifiers by which references and definitions belong together, so only
a `With` of one definition without another `With` in it is unambiguous.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    InexpressibleError,
    Type,
    parse_type,
)

#: What JSON becomes in Python.
Json: TypeAlias = Any

TIME_TYPES: dict[str, pa.DataType] = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"


class CatalystError(ValueError):
    """The text is not the JSON form of a Catalyst tree; the message says why."""


@dataclass(frozen=True)
class Node:
    """A node of the tree.

    Attributes:
        number: Its position, parents first.
        depth: The number of levels below it.
    """

    number: int
    name: str
    fields: Mapping[str, Any]
    children: tuple[Node, ...]
    depth: int


def declared_type(node: Node) -> Type | None:
    """Return the type of a column as Spark reads it; None for structs, arrays and maps."""
    metadata = node.fields.get("metadata")
    char = metadata.get(_CHAR_TYPE) if isinstance(metadata, dict) else None
    return parse_type(char) if isinstance(char, str) else column_type(node.fields["dataType"])


def column_type(type_: Json) -> Type | None:
    """Return `leaf_type`; None also for unknown types, such as texts with a collation."""
    found = leaf_type(type_)
    if found is None and isinstance(type_, str):
        raise InexpressibleError(f"not supported: a column of type {type_[:60]}")
    return found


def field_path(node: Node) -> tuple[str, ...]:
    """Return the path of a field of a column. Raises InexpressibleError for other nodes."""
    match node.name, node.children:
        case "AttributeReference", ():
            return (str(node.fields["name"]),)
        case "GetStructField", (child,):
            return (*field_path(child), _field(node)["name"])
    raise InexpressibleError(f"not supported: a field of {node.name[:60]}")


def _field(node: Node) -> dict[str, Any]:
    (child,) = node.children
    field: dict[str, Any] = data_type(child)["fields"][node.fields["ordinal"]]
    return field


def data_type(node: Node) -> Json:
    """Return the type of a column, or of a field of one, in Spark's JSON."""
    return _field(node)["type"] if node.name == "GetStructField" else node.fields["dataType"]


def type_of(node: Node) -> Type:
    """Return the type of a column. Raises InexpressibleError for structs, arrays and maps."""
    found = leaf_type(data_type(node))
    if found is None:
        raise InexpressibleError("not supported: a set of values of a nested type")
    return found


def leaf_type(type_: Json) -> Type | None:
    """Return the type that Spark's JSON names; None for structs, arrays and maps."""
    if not isinstance(type_, str):
        return None
    if type_ in TIME_TYPES:
        return TIME_TYPES[type_]
    try:
        return parse_type(_NAMES.get(type_, type_))
    except InexpressibleError:
        return None


WITH = "With"
_DEFINITION, _REFERENCE = "CommonExpressionDef", "CommonExpressionRef"


def inlined(node: Node) -> Node:
    """Return the child of a `With`, with the value in place of each reference to it.

    Raises:
        InexpressibleError: It is not known which value a reference has.
    """
    match node.children:
        case (child, Node(name=name, children=(value,))) if name == _DEFINITION:
            if _contains(child, WITH) or _contains(value, WITH):
                raise InexpressibleError("not supported: nested common expressions")
            if child.depth + value.depth > MAX_DEPTH:
                raise InexpressibleError("not supported: common expressions nested too deep")
            return _with_value(child, value)
    raise InexpressibleError("not supported: several common expressions")


def _contains(node: Node, name: str) -> bool:
    return node.name == name or any(_contains(child, name) for child in node.children)


def _with_value(node: Node, value: Node) -> Node:
    if node.name == _REFERENCE:
        return value
    return replace(node, children=tuple(_with_value(child, value) for child in node.children))
