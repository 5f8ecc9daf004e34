"""What is asked of the rows of a life."""

from __future__ import annotations

from random import Random

_PREDICATES = (
    "x = {x}",
    "x > {x} AND x < {x} + 20",
    "s = 'row 7'",
    "s IN ('', 'é')",
    "id = {id}",
    "id IN ({id}, 3, 77)",
    "d = 101.0",
    "p = 'p1' AND x IS NULL",
    "s IS NULL OR id = {id}",
    "m > 10.5",
)


def drawn_predicate(random: Random) -> str:
    """Draw a predicate that means the same in DuckDB, Spark and `scan`."""
    text = random.choice(_PREDICATES)
    return text.format(id=random.randrange(40), x=random.randrange(-9, 50))
