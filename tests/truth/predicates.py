"""Random predicates of a dialect: terms from `templates`, compared with values that they take."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.truth import templates, trino_templates, values
from tests.truth.templates import FAMILIES, UNIONS, Language, Template
from tests.truth.zones import ZoneRules

LANGUAGES: Mapping[str, Language] = {
    **dict.fromkeys((templates.HIVE, templates.SPARK), templates.LANGUAGE),
    **dict.fromkeys((templates.TRINO, templates.PRESTO), trino_templates.LANGUAGE),
}
_SLOT = re.compile(r"\{(#?[a-z]+)\}")
_OF_TIMES = re.compile(r"\{(when|time|instant|clock)\}|unix|TIMESTAMP|timestamp")
#: What engines evaluate in the session's zone, wherever rows are read.
_OF_SESSIONS_ZONE = re.compile(r"unix|TIMESTAMP_LTZ|LOCAL TIME ZONE|date_trunc\(.*clock")
MAX_DEPTH = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: The types of decimal constants with many digits, on either side of the point.
_WRITTEN = tuple(pa.decimal128(38, scale) for scale in (0, 10, 17, 19, 30, 37))


@dataclass(frozen=True)
class Term:
    """A term. text: SQL. result_family: its family. source: the template's text, or the column."""

    text: str
    result_family: str
    source: str


@dataclass(frozen=True)
class Predicate:
    """A predicate. text: SQL. source: the template that it tests, for statistics per function."""

    text: str
    source: str


class Grammar:
    """Draws terms and conditions of a dialect."""

    def __init__(self, dialect: str, rng: random.Random) -> None:
        self._rng = rng
        self._language = LANGUAGES[dialect]
        self._terms = [one for one in self._language.terms if dialect in one.dialects]
        self._conditions = [one for one in self._language.conditions if dialect in one.dialects]
        self._of_times = _naming(_OF_TIMES, self._terms)
        self._of_zone = _naming(_OF_SESSIONS_ZONE, self._terms)
        self._conditions_of_zone = _naming(_OF_SESSIONS_ZONE, self._conditions)

    def term(self) -> Term:
        """A random term: mostly a function of columns, and half of these of times.

        What those give depends on the session; some use its zone. Else each template is equally
        likely.
        """
        kind = self._rng.random()
        if kind < 0.08:
            family = self._rng.choice(list(FAMILIES))
            return Term(self._rng.choice(FAMILIES[family]), family, "column")
        if kind < 0.2 and self._of_zone:
            return self.filled(self._rng.choice(self._of_zone))
        terms = self._of_times if kind < 0.5 else self._terms
        return self.filled(self._rng.choice(terms))

    def condition(self) -> Predicate:
        """A random condition other than a comparison with a constant."""
        of_zone = self._conditions_of_zone
        conditions = of_zone if of_zone and self._rng.random() < 0.1 else self._conditions
        template = self._rng.choice(conditions)
        return Predicate(self.filled(template).text, template.text)

    def comparisons(self, term: Term, constants: Sequence[str]) -> list[Predicate]:
        """Compares the term with values that it takes for the rows.

        constants: these values, as constants of the dialect.
        """
        if not constants:
            return [Predicate(f"{term.text} IS NULL", term.source)]
        draw = lambda: self._rng.choice(constants)  # noqa: E731
        signs = self._language.comparisons
        operator = self._rng.choice(signs)
        texts = [f"{term.text} = {draw()}", f"{term.text} {operator} {draw()}"]
        texts.append(f"{term.text} {self._rng.choice(signs[1:6])} {draw()}")
        kind = self._rng.random()
        if kind < 0.15:
            texts.append(f"{term.text} IN ({draw()}, {draw()}, {draw()})")
        elif kind < 0.3:
            texts.append(f"{term.text} BETWEEN {draw()} AND {draw()}")
        elif kind < 0.45:
            texts.append(f"{term.text} IS NULL")
        elif kind < 0.6:
            other = self._rng.choice(FAMILIES[term.result_family])
            texts.append(f"{other} {operator} {term.text}")
        elif kind < 0.7:
            texts.append(f"{draw()} {operator} {term.text}")
        elif kind < 0.8:
            # Optimizers make `constant BETWEEN other AND term` of it.
            other, constant = self._rng.choice(FAMILIES[term.result_family]), draw()
            texts.append(f"{other} <= {constant} AND {term.text} >= {constant}")
        elif kind < 0.9:
            texts.append(f"{term.text} >= {draw()} AND {term.text} <= {draw()}")
        return [Predicate(text, term.source) for text in texts]

    def combined(self, predicates: Sequence[Predicate]) -> Predicate:
        """Combines some of the predicates with connectives."""
        p, q, r = (self._rng.choice(predicates) for _ in range(3))
        form = self._rng.choice(self._language.forms)
        return Predicate(form.format(p.text, q.text, r.text), p.source)

    def filled(self, template: Template, depth: int = 1) -> Term:
        """The template with random terms in its slots. depth: of nested templates so far."""

        def fill(match: re.Match[str]) -> str:
            return self._slot(match[1], depth)

        return Term(_SLOT.sub(fill, template.text), template.result_family, template.text)

    def _slot(self, name: str, depth: int) -> str:
        if name.startswith("#"):
            return self._constant(name[1:])
        family = self._rng.choice(UNIONS[name]) if name in UNIONS else name
        if depth < MAX_DEPTH and self._rng.random() < 0.25:
            fitting = [one for one in self._terms if one.result_family == family]
            if fitting:
                return f"({self.filled(self._rng.choice(fitting), depth + 1).text})"
        return self._rng.choice(FAMILIES[family])

    def _constant(self, kind: str) -> str:
        match kind:
            case "number":
                return str(values.integer(self._rng, pa.int64()))
            case "daytext":
                return f"'{date.fromordinal(self._rng.randint(1, 3_652_059)).isoformat()}'"
            case "day":
                return f"DATE '{values.spelled_day(self._rng)}'"
            case "digits":
                return f"{values.decimal(self._rng, self._rng.choice(_WRITTEN)):f}"
        return self._rng.choice(self._language.constants[kind])


def _naming(pattern: re.Pattern[str], templates_: Sequence[Template]) -> Sequence[Template]:
    return [one for one in templates_ if pattern.search(one.text)]


def spell(value: Any, type_: pa.DataType, zone: ZoneRules) -> str | None:
    """A value as a constant in Hive's and Spark's SQL, or None if it has none.

    zone: in which instants are written.
    """
    if value is None:
        return None
    for applies, spelled in _SPELLINGS:
        if applies(type_):
            try:
                return spelled(value, zone)
            except OverflowError:  # a time beyond the year 9999 in the zone
                return None
    return None


def quoted(text: str) -> str:
    """A text constant of Hive and Spark."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\0")
    return f"'{escaped}'"


def _float(value: float, _: ZoneRules) -> str:
    infinity = "Infinity" if value > 0 else "-Infinity"
    literal = repr(value) if math.isfinite(value) else "NaN" if math.isnan(value) else infinity
    return f"CAST('{literal}' AS DOUBLE)"


def _time(value: datetime, zone: ZoneRules) -> str:
    wall = value.replace(tzinfo=None)
    if value.tzinfo is not None:
        wall += timedelta(seconds=zone.offset((value - _EPOCH) // timedelta(seconds=1)))
    return f"TIMESTAMP '{wall.isoformat(sep=' ')}'"


_SPELLINGS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[Any, ZoneRules], str]]] = (
    (pa.types.is_boolean, lambda value, _: str(value).lower()),
    (pa.types.is_integer, lambda value, _: str(value)),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, lambda value, _: f"{Decimal(value):f}"),
    (pa.types.is_string, lambda value, _: quoted(value)),
    (pa.types.is_date32, lambda value, _: f"DATE '{value.isoformat()}'"),
    (pa.types.is_timestamp, _time),
)
