"""Queries for ids in a catalog of an engine."""

from __future__ import annotations

from dataclasses import dataclass

from devtools.engines.statements import Result, StatementClient

ON, OFF = {"pyhudi.pruning_enabled": "true"}, {"pyhudi.pruning_enabled": "false"}


@dataclass(frozen=True)
class Ids:
    """The ids that a query returned, ascending, and its result."""

    ids: list[int]
    result: Result

    def counted(self, name: str) -> int:
        """What the plugin counted."""
        return self.result.counters.get(f"pyhudi{name}", 0)


@dataclass(frozen=True)
class Queries:
    """Queries to a server."""

    client: StatementClient

    def ids(self, table: str, condition: str, session: dict[str, str] = ON) -> Ids:
        """The rows of `catalog.schema.table` that match."""
        result = self.client.run(f"SELECT id FROM {table} WHERE {condition}", session)
        return Ids(sorted(one for (one,) in result.rows), result)
