"""Questions about a table at an instant, and the files that the query has to read.

A plan says why, too: as text in a shell, as a page in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.api.arguments import Predicate, checked, text_of, warn_of_quoted_columns
from pyhudi_expr.api.display import html, lines, share_text
from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.expr.frontend.common.constants import conjunction
from pyhudi_expr.expr.frontend.sql.dialects import SqlDialect
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import for_engine
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.request_checks import parse_filter
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import tables_near
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.properties import StatedBuckets
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline import Instant

# What only some of the methods need is imported on use, see `Table`.
if TYPE_CHECKING:
    from pyhudi_expr.index.explanation import Explanation as ExplanationTree
    from pyhudi_expr.index.kept_rows import KeptRows

_HEIGHT = 600  # pixels


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """The files of a table that can hold a row for which a predicate is TRUE.

    `Table.prune` makes it. All other files need not be read: no row of them matches.

    Attributes:
        uri: The table.
        predicate: The predicate, as text.
        result: The same as a value of `pyhudi_expr.index.prune`, for programs that go deeper.
    """

    uri: str
    predicate: str
    result: PruneResult
    _snapshot: TableSnapshot = field(repr=False)

    @property
    def instant(self) -> str | None:
        """The table's newest commit that was considered, in the timeline's digits."""
        return self.result.instant

    @property
    def files_total(self) -> int:
        """Number of files, base and log files."""
        return self.result.files_total

    @property
    def files_kept(self) -> int:
        """Number of files to read."""
        return self.result.files_kept

    @property
    def files_skipped(self) -> int:
        """Number of files that need not be read."""
        return self.files_total - self.files_kept

    @property
    def bytes_total(self) -> int:
        """Size of all files in bytes."""
        return self.result.bytes_total

    @property
    def bytes_kept(self) -> int:
        """Size of the files to read in bytes."""
        return self.result.bytes_kept

    @property
    def partitions_total(self) -> int:
        """Number of partitions that have files."""
        return len(self.result.listing.partitions)

    @property
    def partitions_kept(self) -> int:
        """Number of partitions with files to read."""
        return len(np.unique(self.result.listing.slice_partition[self.result.keep]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Why less files are skipped than could be; empty if all is well."""
        return self.result.notes

    @property
    def skipped_by(self) -> Mapping[str, int]:
        """Number of files that each index excludes beyond those before it, in order of use."""
        return dict(self.result.dropped_by)

    def kept_paths(self) -> list[str]:
        """Return the paths of the files to read, relative to the table's base path."""
        return self.result.kept_paths()

    def kept_uris(self) -> list[str]:
        """Return the whole paths or URIs of the files to read, for another program."""
        base = self.uri.rstrip("/")
        return [f"{base}/{path}" for path in self.kept_paths()]

    def files(self) -> pa.Table:
        """Return the table's files with the columns of `Table.files`, and `kept` (bool)."""
        from pyhudi_expr.index.description import files_table

        kept = pa.array(self.result.file_keep, pa.bool_())
        return files_table(self.result.listing).append_column("kept", kept)

    def kept_rows(self) -> KeptRows:
        """Return which rows of the kept base files can match; reads footers and page indexes.

        Printed, it says how many row groups, pages and rows that are. Files of slices with log
        files are not evaluated, as log files may change any of their rows.
        """
        from pyhudi_expr.index.kept_rows import OF_ANY_SIZE, RowEvaluator, without_merged_slices

        return RowEvaluator(OF_ANY_SIZE).rows(
            without_merged_slices(self.result), self._snapshot.table
        )

    def explain(self) -> Explanation:
        """Return what each part of the predicate excludes, by which index, and why not more."""
        found = self.result.explain(self._snapshot.row_counts())
        return Explanation(self, found, self._snapshot.table.timeline.instants)

    def __reduce__(self) -> tuple[object, ...]:
        """Raise a TypeError: it holds what was read of the table."""
        raise TypeError("a Plan cannot be pickled: pickle its kept_paths(), or the Table")

    def __repr__(self) -> str:
        """Return the counts, and a line for each note."""
        return lines(f"Plan for {self.predicate}", self._facts())

    def _repr_html_(self) -> str:
        return html(f"Plan for {self.predicate}", self._facts())

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "table", self.uri
        yield "files", self.summary
        yield "instant", self.instant or "no commit"
        for name, number in self.skipped_by.items():
            yield "skipped", f"{number:,} by {name}"
        for note in self.notes:
            yield "note", note

    @property
    def summary(self) -> str:
        """One line: files and bytes to read, of how many."""
        sizes = share_text(self.bytes_kept, self.bytes_total)
        return f"read {self.files_kept:,} of {self.files_total:,}, {sizes}"


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """What each part of a predicate excludes of a table, by which index, and why not more.

    `Table.explain` makes it. A shell shows the text, a notebook the page.

    Attributes:
        plan: The files to read.
        tree: The parts of the predicate, see `pyhudi_expr.index.explanation.Explanation`.
    """

    plan: Plan
    tree: ExplanationTree
    _instants: Sequence[Instant] = field(repr=False)

    def to_text(self) -> str:
        """Return the counts, and the parts of the predicate as a tree, a line for each."""
        from pyhudi_expr.api.explanation_lines import explanation_text
        from pyhudi_expr.index.explanation import remarks

        used = ", ".join(
            f"{source.name} {1000 * source.seconds:.1f} ms" for source in self.plan.result.evidence
        )
        parts = explanation_text(self.plan.predicate, self.tree)
        result = self.plan.result
        below = remarks(result.files_kept, result.unasked, self.tree)
        text = f"{self.plan!r}\n  indexes  {used or 'none'}\n\n{parts}"
        return "\n".join((text, *below))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree for JSON."""
        return self.tree.as_dict()

    def to_html(self, file: str | Path | None = None, rows: KeptRows | None = None) -> str:
        """Return a page for a browser, with the files drawn; it loads nothing else.

        Args:
            file: Where to write it, too.
            rows: What `Plan.kept_rows` returned, to be shown as well.

        Raises:
            HudiError: jinja2 is missing (the extra `cli` has it), or the file cannot be written.
        """
        from pyhudi_expr.api.pages.explanation import explain_page

        plan = self.plan
        page = explain_page(plan.uri, plan.predicate, plan.result, self.tree, self._instants, rows)
        if file is not None:
            try:
                Path(file).write_text(page, encoding="utf-8")
            except OSError as error:
                raise HudiError(f"{file}: the page cannot be written: {error}") from error
        return page

    def __repr__(self) -> str:
        """Return the text."""
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the page in a frame, as its style is for a page of its own."""
        try:
            page = self.to_html()
        except HudiError:
            return f"<pre>{escape(self.to_text())}</pre>"
        frame = f'style="width: 100%; height: {_HEIGHT}px; border: 0"'
        return f'<iframe {frame} srcdoc="{escape(page)}"></iframe>'


@dataclass(frozen=True)
class Question:
    """Predicates about a table at an instant, which are to be TRUE together.

    Attributes:
        predicates: As the user gave them; none for all rows.
        tree: As the other rooms take them.
        snapshot: The table at the instant.
        dialect: The SQL of a text.
        zone: The time zone of its times without zone.
        reader: Where the program that reads the files takes partition values from.
        since: Only rows that were written after this instant, in the timeline's digits.
        buckets: What is stated of the table's buckets.
    """

    predicates: tuple[Predicate, ...]
    tree: HudiExpression
    snapshot: TableSnapshot
    dialect: SqlDialect
    zone: str
    reader: PartitionReader
    since: str | None = None
    buckets: StatedBuckets | None = None

    def restricted(self, predicate: Predicate | None) -> Question:
        """Return the question with another predicate; None changes nothing.

        Warns of columns in the quotes of texts.

        Raises:
            InvalidType: It is no predicate of a known kind.
            UnknownColumn: The table has no such column.
            HudiError: It cannot be parsed.
        """
        given, schema = checked(predicate), self.snapshot.schema
        if given is None:
            return self
        tree = parse_filter(given, schema, self.dialect, self.snapshot.table.base_path)
        warn_of_quoted_columns(tree, schema)
        joined = conjunction((self.tree, tree)) if self.predicates else tree
        return replace(self, predicates=(*self.predicates, given), tree=joined)

    def pruned(self, pruner: Pruner) -> Plan:
        """Return the files to read for the reader. Raises HudiError."""
        request = PruneRequest(
            self.tree,
            self.snapshot.listing.view,
            for_engine(self.zone, self.dialect.engine),
            since=self.since,
            reader=self.reader,
            buckets=self.buckets,
        )
        return self.plan(pruner.prune_snapshot(self.snapshot, request))

    def plan(self, result: PruneResult) -> Plan:
        """Return the plan of a result."""
        uri = self.snapshot.table.base_path
        return Plan(uri, text_of(self.predicates), result, self.snapshot)


def snapshot_at(pruner: Pruner, uri: str, view: TableView, as_of: str | None) -> TableSnapshot:
    """Open a table at an instant.

    Raises:
        TableNotFound: There is none; the message names tables above and below.
        BeforeFirstCommit: The instant is before the table's first commit.
        HudiError: The table cannot be read.
    """
    try:
        snapshot = pruner.open(uri, view, as_of)
    except TableNotFound as error:
        near = tables_near(Storage.open(uri, pruner.settings[1]))
        raise TableNotFound(f"{error}{near}") from error
    if as_of is not None:
        snapshot.table.check_as_of(as_of)
    return snapshot
