"""A bound predicate as text, for explanations and logs."""

from __future__ import annotations

from pyhudi_expr.expr.bind import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
)
from pyhudi_expr.expr.nodes import Constant, Unknown

_SHOWN_OPTIONS = 3


def render(node: BoundExpression) -> str:
    """SQL-like text; literals are shown as what they are compared as."""
    match node:
        case BoundAnd(children=children):
            return " AND ".join(_nested(child) for child in children)
        case BoundOr(children=children):
            return " OR ".join(_nested(child) for child in children)
        case BoundNot(child=child):
            return f"NOT {_nested(child)}"
        case BoundComparison(op=op, left=left, right=right):
            return f"{render_term(left)} {op.value} {render_term(right)}"
        case BoundIn(term=term, options=options):
            shown = [render_term(option) for option in options[:_SHOWN_OPTIONS]]
            if len(options) > _SHOWN_OPTIONS:
                shown.append(f"... {len(options)} in all")
            return f"{render_term(term)} IN ({', '.join(shown)})"
        case BoundIsNull(term=term):
            return f"{render_term(term)} IS NULL"
        case BoundStartsWith(term=term, prefix=prefix):
            return f"{render_term(term)} LIKE {prefix.decode()!r} + '%'"
        case Constant(truth=truth):
            return str(truth.name)
        case Unknown(reason=reason):
            return f"UNKNOWN ({reason})"


def render_term(term: BoundTerm) -> str:
    """SQL-like text of a value."""
    match term:
        case BoundColumn(name=name):
            return name
        case BoundLiteral(lower=lower, upper=upper):
            return repr(lower) if lower == upper else f"[{lower!r}, {upper!r}]"
        case BoundCall(function=function, term=operand):
            return f"{function}({render_term(operand)})"


def _nested(node: BoundExpression) -> str:
    text = render(node)
    return f"({text})" if isinstance(node, BoundAnd | BoundOr) else text
