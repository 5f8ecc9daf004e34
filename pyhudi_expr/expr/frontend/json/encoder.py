"""Expressions as JSON: what another engine, or a file, can hold and send.

``{"version": 1, "predicate": NODE}``. A node is an object whose ``node`` names its kind; its other
fields are those of the class of that name in `pyhudi_expr.expr.nodes`::

    {"node": "comparison", "op": "<", "left": {"node": "column", "path": ["a"]},
     "right": {"node": "literal", "type": "int32", "value": 1}}

============  ==============================================================
kind          fields
============  ==============================================================
and, or       children: predicates
not           child: a predicate
constant      truth: what may be, of YES, NO and NULL, as a list
comparison    op: = <=> <> < <= > >=; left, right: terms
in            term; options: terms
in_keys       term; count; lows, highs: literals, the ends of at most 16 ranges that
              have all of the keys; has_null: a truth
between       term, low, high: terms
is_null       term: a term or a predicate
starts_with   term; prefix: a text
matches       term; begin: characters or nulls; whole: a truth
unknown       reason: a text
column        path: names; type: as the engine declares it (may be left out)
literal       type; value (left out for NULL)
cast          term; type
call          name; args: terms
case          branches: objects of when (a predicate) and then; otherwise
============  ==============================================================

Types are Arrow's, by `arrow_types`. Values are JSON's where it has them. Integers beyond 2^53,
decimals, and NaN, Infinity and -Infinity are texts; bytes are base64; dates are days and
timestamps units since the epoch. `decoder` refuses other versions and unknown kinds;
fields that it does not know are an error, too, because they may narrow what is meant.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.frontend.common.json_input import Json
from pyhudi_expr.expr.frontend.json.arrow_types import arrow_type_name
from pyhudi_expr.expr.nodes import HudiExpression, Term, Truth

VERSION = 1
TRUTHS = {"YES": Truth.YES, "NO": Truth.NO, "NULL": Truth.NULL}
#: Of a list of keys: its whole text could be larger than a log file.
MOST_RANGES = 16
_EXACT = 2**53

_Json = Any


def dumps(predicate: HudiExpression) -> str:
    """The predicate as one line of JSON. Raises InexpressibleError."""
    try:
        form = {"version": VERSION, "predicate": _node(predicate)}
    except RecursionError:
        raise InexpressibleError("a predicate nested too deeply") from None
    return json.dumps(form, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _node(node: HudiExpression | Term) -> _Json:
    match node:
        case e.And(children=children):
            return {"node": "and", "children": [_node(child) for child in children]}
        case e.Or(children=children):
            return {"node": "or", "children": [_node(child) for child in children]}
        case e.Not(child=child):
            return {"node": "not", "child": _node(child)}
        case e.Constant(truth=truth):
            truths = [name for name, one in TRUTHS.items() if one in truth]
            return {"node": "constant", "truth": truths}
        case e.Comparison(op=op, left=left, right=right):
            sides = {"left": _node(left), "right": _node(right)}
            return {"node": "comparison", "op": op.value, **sides}
        case e.In(term=term, options=options):
            return {"node": "in", "term": _node(term), "options": [_node(one) for one in options]}
        case e.InKeys(term=term, keys=keys, has_null=has_null):
            few = keys.shortened(MOST_RANGES)
            lows, highs = (
                [_node(e.Literal(end, keys.type)) for end in ends] for ends in few.python_ends()
            )
            ranges = {"count": keys.count, "lows": lows, "highs": highs, "has_null": has_null}
            return {"node": "in_keys", "term": _node(term), **ranges}
        case e.Between(term=term, low=low, high=high):
            bounds = {"low": _node(low), "high": _node(high)}
            return {"node": "between", "term": _node(term), **bounds}
        case e.IsNull(term=subject):
            return {"node": "is_null", "term": _node(subject)}
        case e.StartsWith(term=term, prefix=prefix):
            return {"node": "starts_with", "term": _node(term), "prefix": prefix}
        case e.Matches(term=term, begin=begin, whole=whole):
            return {"node": "matches", "term": _node(term), "begin": [*begin], "whole": whole}
        case e.Unknown(reason=reason):
            return {"node": "unknown", "reason": reason}
        case e.Column(path=path, declared=declared):
            type_ = {} if declared is None else {"type": arrow_type_name(declared)}
            return {"node": "column", "path": [*path], **type_}
        case e.Literal(value=value, type=type_):
            shown = {} if value is None else {"value": _value(value)}
            return {"node": "literal", "type": arrow_type_name(type_), **shown}
        case e.Cast(term=term, type=type_):
            return {"node": "cast", "term": _node(term), "type": arrow_type_name(type_)}
        case e.Call(name=name, args=args):
            return {"node": "call", "name": name, "args": [_node(arg) for arg in args]}
        case e.Case(branches=branches, otherwise=otherwise):
            pairs = [{"when": _node(when), "then": _node(then)} for when, then in branches]
            return {"node": "case", "branches": pairs, "otherwise": _node(otherwise)}
        case e.InZone(zone=zone):
            raise InexpressibleError(f"a zone of its own, {zone.name}")


def _value(value: Json) -> _Json:
    match value:
        case bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT else str(value)
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return base64.b64encode(value).decode("ascii")
    return str(value)
