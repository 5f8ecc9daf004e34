"""The rows of a table in Hive, with pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools.ddl import create_with_handler
from pyhudi_expr.manage.hive.session import QueryError
from tests.lives.life import Life
from tests.lives.model import Canonical, canonical

RowsInHive = Callable[[str], Sequence[Canonical] | None]
"""The rows that meet a condition; None if Hive refuses the query, which the life notes."""


@contextmanager
def registered_in_hive(life: Life, path: Path) -> Iterator[RowsInHive]:
    """Register a table of a life under its directory's name, and drop that afterwards."""
    types = life.model.types
    names = ", ".join(f"`{name}`" for name in types)
    with life.sessions.hive_session() as session:

        def rows(condition: str) -> Sequence[Canonical] | None:
            try:
                found = session.run(f"SELECT {names} FROM {path.name} WHERE {condition}")
            except QueryError as error:
                life.note("Hive refuses", f"{type(error).__name__}: {error}"[:300])
                return None
            return canonical([dict(zip(types, row, strict=True)) for row in found], types)

        session.run(create_with_handler(path.name, path))
        try:
            yield rows
        finally:
            session.run(f"DROP TABLE {path.name}")
