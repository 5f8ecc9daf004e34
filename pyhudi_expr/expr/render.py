"""Render a bound predicate as text, for explanations and logs."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
)
from pyhudi_expr.expr.domains import Domain, Kind, exact_decimal, floats_of
from pyhudi_expr.expr.nodes import Constant, PythonValue, Unknown

_EPOCH = datetime(1970, 1, 1)
_SHOWN_OPTIONS = 3
_PATTERNS = ("LIKE ", "RLIKE ")
_INFIX = frozenset({"+", "-", "*", "/", "%", "div", "||"})


def render(node: BoundExpression) -> str:
    """Return SQL-like text; literals are shown as the values that they are compared as."""
    match node:
        case BoundAnd(children=children):
            return " AND ".join(_nested(child) for child in children)
        case BoundOr(children=children):
            return " OR ".join(_nested(child) for child in children)
        case BoundNot(child=child):
            return f"NOT {_nested(child)}"
        case BoundComparison(op=op, left=BoundLiteral() as left, right=right) if not isinstance(
            right, BoundLiteral
        ):  # binding turns `a > 1` into `1 < a`
            return f"{render_term(right)} {op.mirrored.value} {render_term(left)}"
        case BoundComparison(left=BoundCall(name=name, args=(term,))) if name.startswith(_PATTERNS):
            return f"{render_term(term)} {name}"
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
            return f"{render_term(term)} LIKE {_quoted(prefix.decode() + '%')}"
        case BoundMatches(term=term, begin=begin, whole=whole):
            pattern = "".join(map(_shown_class, begin))
            return f"{render_term(term)} LIKE {_quoted(pattern + ('' if whole else '%'))}"
        case Constant(truth=truth):
            return str(truth.name)
        case Unknown(reason=reason):
            return f"UNKNOWN ({reason})"


def render_term(term: BoundTerm) -> str:
    """Return SQL-like text of a term."""
    match term:
        case BoundColumn(name=name):
            return name
        case BoundLiteral(lower=lower, upper=upper, domain=domain):
            low, high = _value(lower, domain), _value(upper, domain)
            return low if low == high else f"[{low}, {high}]"
        case BoundCall(name=name, args=(left, right)) if name in _INFIX:
            return f"{_operand(left)} {name} {_operand(right)}"
        case BoundCall(name="cast", args=(arg,), domain=domain):
            return f"cast({render_term(arg)} AS {domain.kind.value})"
        case BoundCall(name=name, args=args):
            return f"{name}({', '.join(map(render_term, args))})"


def _operand(term: BoundTerm) -> str:
    is_compound = isinstance(term, BoundCall) and term.name in _INFIX
    return f"({render_term(term)})" if is_compound else render_term(term)


def _quoted(text: str) -> str:
    """Return a text as SQL has it, in one line."""
    escaped = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return "'" + escaped.replace("'", "''") + "'"


def _shortened(decimal: str) -> str:
    return decimal.rstrip("0").rstrip(".") if "." in decimal else decimal


def _shown_class(codes: frozenset[int]) -> str:
    """Return a byte class as in LIKE; the cases of a letter as [Aa]."""
    letters = "".join(chr(code) for code in sorted(codes) if code < 0x80)
    return letters if len(letters) == 1 else f"[{letters}]" if 0 < len(letters) < 3 else "_"


def _value(value: PythonValue, domain: Domain) -> str:
    """Return a value of a domain in its usual notation."""
    match domain.kind:
        case Kind.BOOLEAN:
            return str(bool(value)).lower()
        case Kind.FLOAT:
            return repr(float(floats_of(np.array([value]))[0]))
        case Kind.DECIMAL if domain.is_ordinal:
            return _shortened(f"{exact_decimal(value, domain.scale):f}")
        case Kind.DECIMAL:
            return _shortened(f"{value:f}")
        case Kind.TEXT:
            return _quoted(value.decode(errors="replace"))
        case Kind.DATE | Kind.WALL_CLOCK | Kind.INSTANT:
            return _quoted(_moment(value, domain))
        case _:
            return repr(value)


def _moment(value: int, domain: Domain) -> str:
    try:
        if domain.kind is Kind.DATE:
            return str(_EPOCH.date() + timedelta(days=value))
        seconds, rest = divmod(value, domain.units)
        micros = rest * 10**6 // domain.units
        text = str(_EPOCH + timedelta(seconds=seconds, microseconds=micros))
    except OverflowError:
        return repr(value)
    return f"{text}Z" if domain.kind is Kind.INSTANT else text


def _nested(node: BoundExpression) -> str:
    text = render(node)
    return f"({text})" if isinstance(node, BoundAnd | BoundOr) else text
