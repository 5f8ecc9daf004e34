"""Statistics as writers record them: derived from rows, sometimes loose, partial or missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Domain, Kind, float_ordinals

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RecordedStatistics:
    """The statistics that a writer records for one column of one file."""

    minimum: bool = True
    maximum: bool = True
    loose: bool = False
    nulls: bool = True


EXACT = RecordedStatistics()
NOTHING = RecordedStatistics(False, False, False, False)


@dataclass(frozen=True)
class RowStatistics:
    """A source of bounds for files with known rows.

    given: by (column, file index); all others are exact.
    absent: columns without any statistics.
    """

    files: Sequence[Sequence[Row]]
    given: Mapping[tuple[str, int], RecordedStatistics] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        if column.name in self.absent:
            return None
        lowers, uppers, values, nulls = [], [], [], []
        for index, rows in enumerate(self.files):
            given = self.given.get((column.name, index), EXACT)
            cells = [_physical(row[column.name], column.domain) for row in rows]
            known = [cell for cell in cells if cell is not None]
            has_nan = MAX_ORDINAL in known and column.domain.kind is Kind.FLOAT
            low = min(known) if known and given.minimum else None
            high = max(known) if known and given.maximum and not has_nan else None
            lowers.append(_below(low) if given.loose else low)
            uppers.append(_above(high) if given.loose else high)
            values.append(bool(known) or not given.nulls)
            nulls.append(len(known) < len(cells) or not given.nulls)
        return Bounds(
            _array(lowers, column.domain, MIN_ORDINAL),
            _array(uppers, column.domain, MAX_ORDINAL),
            np.array(values, dtype=np.bool_),
            np.array(nulls, dtype=np.bool_),
        )


def _physical(value: Any, domain: Domain) -> Any:
    if value is None:
        return None
    match domain.kind:
        case Kind.FLOAT:
            return MAX_ORDINAL if math.isnan(value) else int(float_ordinals([value])[0])
        case Kind.DECIMAL if domain.is_ordinal:
            return int(value.scaleb(domain.scale))
        case Kind.TEXT:
            return value.encode()
        case Kind.DECIMAL | Kind.BINARY:
            return value
    return int(value)


def _below(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:1]
    return value if value is None or value == MIN_ORDINAL else value - 1


def _above(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:2] + b"\xff" * (len(value) + 1)
    return value if value is None or value == MAX_ORDINAL else value + 1


def _array(values: list[Any], domain: Domain, unknown: int) -> Any:
    if not domain.is_ordinal:
        return pa.array(values, type=domain.arrow_type)
    return np.array([unknown if value is None else value for value in values], dtype=np.int64)
