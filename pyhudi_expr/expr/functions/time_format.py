"""Dates and times as texts, if the texts are in the order of time.

Engines use formatters of `java.time`, or by a setting `SimpleDateFormat`, whose zones are those of
`java.util.TimeZone`: what is excluded holds for both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, AnyScalar, BoolArray, arrow_buffer
from pyhudi_expr.expr.domains import MIN_ORDINAL, Bounds, Domain, Kind, Ordinals
from pyhudi_expr.expr.functions.calendar import NO_ZONE, clock_of
from pyhudi_expr.expr.functions.casts import existing_times
from pyhudi_expr.expr.functions.signature import (
    TEXT,
    Function,
    Rule,
    Signature,
    Site,
    by_value,
    on_first,
    opaque,
    ordinals,
)
from pyhudi_expr.expr.functions.time_zones import ToWallClock
from pyhudi_expr.expr.semantics import Semantics


def _from_unixtime(site: Site) -> Signature | None:
    if site.kind(0) is not Kind.INTEGER or len(site.domains) > 2:
        return None
    pattern = "yyyy-MM-dd HH:mm:ss" if len(site.domains) == 1 else site.text(1)
    layout = _layout(pattern or "")
    if layout is None or site.zone is None:
        return opaque(TEXT, NO_ZONE if site.zone is None else _NO_PATTERN)
    zone = site.zone.of_old_formatters()
    return Signature(on_first(_formatted(layout), ToWallClock(zone, 1)), TEXT)


def _date_format(site: Site) -> Signature | None:
    site = replace(site, semantics=site.semantics.of_old_formatters())
    clock, layout = clock_of(site), _layout(site.text(1) or "")
    if clock is None or len(site.domains) != 2:
        return None
    if layout is None or isinstance(clock, Signature):
        return opaque(TEXT, NO_ZONE if layout else _NO_PATTERN)
    shown = clock[0]
    if site.kind(0) is not Kind.INSTANT or not site.semantics.has_one_zone:
        # Hive formats the instant at which clocks of the session's zone show the time.
        shown = existing_times(shown, _SECONDS, site.zone)
    return Signature(on_first(_formatted(layout), shown), TEXT)


_SECONDS = Domain(Kind.WALL_CLOCK, units=1)


_NO_PATTERN = "a pattern of times that has no rule"
#: The fields of 'yyyy-mm-ddThh:mm:ss', in the order in which texts grow with time.
_FIELDS = {"yyyy": (0, 4), "MM": (5, 7), "dd": (8, 10), "HH": (11, 13), "mm": (14, 16)}


_FIELDS["ss"] = (17, 19)


#: Fields, quoted letters and signs that both of Java's formatters write identically; engines use
#: one or the other. They differ for doubled quotes, brackets, braces and "#".
_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|'[^']+'(?!')|[^A-Za-z'\[\]{}#]")


#: Parts of a formatted time: texts as they are, and (begin, end) in an ISO text.
_Layout = tuple[bytes | tuple[int, int], ...]


def _layout(pattern: str) -> _Layout | None:
    """Return the parts of a pattern; None where Java's formatters may differ."""
    pieces = _PATTERN.findall(pattern)
    if "".join(pieces) != pattern or not pattern.isascii():
        return None
    return tuple(
        _FIELDS[piece] if piece in _FIELDS else piece.strip("'").encode() for piece in pieces
    )


ISO_DAY = _layout("yyyy-MM-dd")


ISO_SECOND = _layout("yyyy-MM-dd HH:mm:ss")


_FIRST_YEAR = int(np.datetime64("0001-01-01", "s").astype(np.int64))


_LAST_YEAR = int(np.datetime64("9999-12-31T23:59:59", "s").astype(np.int64))


@dataclass(frozen=True)
class _Formatted:
    """Wall-clock seconds as texts of one width, for the years 1 to 9999.

    Attributes:
        fraction: Whether an engine may append a fraction.
    """

    layout: _Layout
    fraction: bool = False

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        # Years of other widths are not in the order of their texts.
        known = (lower >= _FIRST_YEAR) & (upper <= _LAST_YEAR)
        first = self._texts(lower, known, b"")
        last = self._texts(upper, known, b".\xff" if self.fraction else b"")
        return Bounds(first, last, operand.may_be_value, operand.may_be_null)

    def _texts(self, seconds: Ordinals, known: BoolArray, tail: bytes) -> AnyArray | AnyScalar:
        moments = np.atleast_1d(np.where(known, seconds, 0)).astype("datetime64[s]")
        iso = np.datetime_as_string(moments).astype("S19").view(np.uint8).reshape(-1, 19)
        columns = [
            np.broadcast_to(np.frombuffer(part, dtype=np.uint8), (len(iso), len(part)))
            if isinstance(part, bytes)
            else iso[:, slice(*part)]
            for part in (*self.layout, tail)
        ]
        matrix = np.ascontiguousarray(np.concatenate(columns, axis=1))
        width = matrix.shape[1]
        mask = pa.array(np.atleast_1d(known)).buffers()[1]
        fixed = pa.Array.from_buffers(pa.binary(width), len(matrix), [mask, arrow_buffer(matrix)])
        texts = fixed.cast(pa.binary()).cast(pa.large_binary())
        return texts if known.ndim else texts[0]


def _formatted(layout: _Layout) -> Function:
    """Return times as texts: ordered where coarser fields come first, else of single values."""
    fields = [part for part in layout if not isinstance(part, bytes)]
    if fields and fields == list(_FIELDS.values())[: len(fields)]:
        return _Formatted(layout)
    reason = "a pattern whose texts do not sort by time"
    return by_value(_FormattedValues(_Formatted(layout)), TEXT, reason).function


@dataclass(frozen=True)
class _FormattedValues:
    """Wall-clock seconds as texts."""

    texts: _Formatted

    def __call__(self, *values: AnyArray) -> AnyArray:
        seconds = np.asarray(values[0].fill_null(MIN_ORDINAL))
        return self.texts(Bounds(seconds, seconds)).lower


def as_text(domain: Domain, semantics: Semantics) -> Function | None:
    """Return the cast of dates and times to text; None for instants in an unknown zone."""
    clock = clock_of(Site("cast", (domain,), (None,), semantics))
    if clock is None or isinstance(clock, Signature) or ISO_DAY is None or ISO_SECOND is None:
        return None
    is_date = domain.kind is Kind.DATE
    return on_first(_Formatted(ISO_DAY if is_date else ISO_SECOND, not is_date), clock[0])


RULES: dict[str, Rule] = {"from_unixtime": _from_unixtime, "date_format": _date_format}
