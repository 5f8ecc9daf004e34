"""What is asked of the rows of a life."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from tests.lives.model import ADDED

_OF_ADDED = ("{0} IS NOT NULL", "{0} IS NULL AND id > {id}", "{0} > '{x}'")
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


def drawn_predicate(random: Random, types: Mapping[str, str]) -> str:
    """Draw a predicate over columns that means the same in DuckDB, Spark and `scan`."""
    added = [name for name in types if name in ADDED]
    if added and random.random() < 0.3:
        text, name = random.choice(_OF_ADDED), random.choice(added)
    else:
        text, name = random.choice(_PREDICATES), ""
    return text.format(name, id=random.randrange(40), x=random.randrange(-9, 50))
