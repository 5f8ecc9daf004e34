"""Expressions that Spark 4 evaluates once and refers to, as in `a * 2 BETWEEN 1 AND 5`.

``With(child, definition)``: in the child, ``CommonExpressionRef`` is the definition's value. The
JSON form does not have the identifiers by which references and definitions belong together, so only
a `With` of one definition without another `With` in it is unambiguous.
"""

from __future__ import annotations

from dataclasses import replace

from pyhudi_expr.expr.frontend.common.builders import MAX_DEPTH
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.frontend.spark.data_types import Node

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
