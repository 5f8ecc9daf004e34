"""Random joins of the fact and the small tables: SQL texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

_KEYS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "fact": {"place": ("stop",), "code": ("code",), "day": ("day",)},
    "stops": {
        "place": ("k",),
        "code": ("k_code",),
        "day": ("k_day",),
        "line": ("line",),
        "name": ("name",),
    },
    "lines": {"line": ("line", "twin"), "name": ("name",), "code": ("first_code",)},
}
"""The columns that tables are joined by, by what they mean; logged stops are stops, too."""
_CONDITIONS: Mapping[str, Sequence[str]] = {
    "fact": ("{0}.amount % 3 = 0", "{0}.stop < 1700", "{0}.day > date'2024-02-01'"),
    "stops": (
        "{0}.line = 2",
        "{0}.line IN (1, 7)",
        "{0}.name = 'line 3'",
        "({0}.k < 900 OR {0}.line = 5)",
        "{0}.k_code IS NULL",
        "NOT {0}.line = 4",
        "length({0}.name) = 6",
    ),
    "lines": (
        "{0}.colour = 'red'",
        "{0}.colour IN ('blue', 'grey')",
        "{0}.colour IS NULL",
        "{0}.twin > 3",
    ),
}
"""Of a table with an alias."""
_JOINS = ("JOIN",) * 6 + ("LEFT JOIN",) * 2 + ("RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN")


@dataclass(frozen=True)
class _Source:
    """What stands in FROM: a table, or a subquery with columns of one."""

    text: str
    alias: str
    kind: str


def random_query(names: Mapping[str, str], seed: int) -> str:
    """Write a query that counts and adds up the rows of two to five joined tables.

    Args:
        names: The names in Hive of `fact`, `stops`, `logged` (stops, too) and `lines`.
        seed: Equal ones have equal queries.
    """
    return _Writer(names, Random(seed)).query()


class _Writer:
    def __init__(self, names: Mapping[str, str], random: Random) -> None:
        self._names = names
        self._random = random
        self._sources = 0

    def query(self) -> str:
        others = self._random.choices(("stops", "logged", "lines", "fact"), k=3)
        order = ["fact", "stops", *others[: self._random.randint(0, 3)]]
        self._random.shuffle(order)
        joined, visible = self._joined([self._source(name) for name in order])
        facts = [source.alias for source in visible if source.kind == "fact"]
        sums = [f"sum({source.alias}.id)" for source in visible]
        return (
            f"SELECT count(*), {', '.join(sums)}"
            + "".join(f", min({alias}.day), max({alias}.code)" for alias in facts)
            + f" FROM {joined}{self._where(visible)}"
        )

    def _joined(self, sources: Sequence[_Source]) -> tuple[str, list[_Source]]:
        """The text after FROM, and what of it SELECT may use."""
        first = sources[0]
        text, visible = f"{first.text} {first.alias}", [first]
        for source in sources[1:]:
            partner = self._random.choice([each for each in visible if _meanings(each, source)])
            join = self._random.choice(_JOINS)
            text += f" {join} {source.text} {source.alias} ON {self._equal(partner, source)}"
            if join != "LEFT SEMI JOIN":
                visible.append(source)
        return text, visible

    def _equal(self, left: _Source, right: _Source) -> str:
        meaning = self._random.choice(_meanings(left, right))
        sides = [
            f"{source.alias}.{self._random.choice(_KEYS[source.kind][meaning])}"
            for source in (left, right)
        ]
        return (" <=> " if self._random.random() < 0.1 else " = ").join(sides)

    def _source(self, name: str) -> _Source:
        self._sources += 1
        kind = "stops" if name == "logged" else name
        table = self._names[name]
        if self._random.random() < 0.5:
            return _Source(table, f"a{self._sources}", kind)
        return _Source(f"({self._rows(table, kind)})", f"a{self._sources}", kind)

    def _rows(self, table: str, kind: str) -> str:
        """Rows of a table that a condition, or another small table, chooses."""
        rows = f"SELECT t.* FROM {table} t WHERE"
        if kind == "fact" or self._random.random() < 0.5:
            return f"{rows} {self._condition(kind, 't')}"
        column = self._random.choice(("line", "name"))
        operator = self._random.choice(("IN", "IN", "IN", "NOT IN"))
        chosen = f"SELECT l.{column} FROM {self._names['lines']} l"
        return f"{rows} t.{column} {operator} ({chosen} WHERE {self._condition('lines', 'l')})"

    def _where(self, visible: Sequence[_Source]) -> str:
        small = [source for source in visible if source.kind != "fact"]
        chosen = self._random.sample(small, min(len(small), self._random.randint(1, 2)))
        conditions = [self._condition(source.kind, source.alias) for source in chosen]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _condition(self, kind: str, alias: str) -> str:
        return self._random.choice(_CONDITIONS[kind]).format(alias)


def _meanings(left: _Source, right: _Source) -> list[str]:
    """What both have a column for."""
    return [meaning for meaning in _KEYS[left.kind] if meaning in _KEYS[right.kind]]
