"""Questions about a table at an instant, from what users give."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.api.arguments import reader_of
from pyhudi_expr.api.plan import Plan
from pyhudi_expr.api.predicates import Predicate, text_of
from pyhudi_expr.expr.frontend.sql.dialects import SqlDialect
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.listing import TableView


@dataclass(frozen=True)
class Question:
    """A predicate about a table at an instant.

    Attributes:
        predicate: As the user gave it.
        tree: As the other rooms take it.
        snapshot: The table at the instant.
        dialect: The SQL of a text.
        zone: The time zone of its times without zone.
        since: Only rows that were written after this instant, in the timeline's digits.
    """

    predicate: Predicate | None
    tree: HudiExpression
    snapshot: TableSnapshot
    dialect: SqlDialect
    zone: str
    since: str | None = None

    def pruned(self, pruner: Pruner) -> Plan:
        """Return the files to read for an engine of the dialect. Raises HudiError."""
        request = PruneRequest(
            self.tree,
            self.snapshot.listing.view,
            here(self.zone, self.dialect.engine),
            since=self.since,
            reader=reader_of(self.dialect.name),
        )
        return self.plan(pruner.prune_snapshot(self.snapshot, request))

    def plan(self, result: PruneResult) -> Plan:
        """Return the plan of a result."""
        text, uri = text_of(self.predicate), self.snapshot.table.base_path
        return Plan(uri, text, result, self.snapshot)


def snapshot_at(pruner: Pruner, uri: str, view: TableView, as_of: str | None) -> TableSnapshot:
    """Open a table at an instant.

    Raises:
        BeforeFirstCommit: The instant is before the table's first commit.
        HudiError: The table cannot be read.
    """
    snapshot = pruner.open(uri, view, as_of)
    if as_of is not None:
        snapshot.table.check_as_of(as_of)
    return snapshot
