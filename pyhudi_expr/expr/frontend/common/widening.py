"""Casts of numbers that change no value, and so are the same in every engine."""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.nodes import Cast, Term

_WIDER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


def widen(term: Term, source: pa.DataType | None, target: pa.DataType | None) -> Term:
    """Return a term of one type as another; a type is None if it is not a number.

    Raises:
        InexpressibleError: The cast may change a value.
    """
    if source is not None and source == target:
        return term
    if source is None or target is None or target not in _WIDER.get(source, ()):
        raise InexpressibleError(f"not supported: a cast from {source} to {target}")
    return Cast(term, target)
