"""The files that a query has to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pyhudi_expr.api.display import html, lines
from pyhudi_expr.api.explanation import Explanation
from pyhudi_expr.api.sizes import share_text
from pyhudi_expr.index.description.contents import files_table
from pyhudi_expr.index.kept_rows import OF_ANY_SIZE, KeptRows, RowEvaluator, without_merged_slices
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot


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
        kept = pa.array(self.result.file_keep, pa.bool_())
        return files_table(self.result.listing).append_column("kept", kept)

    def kept_rows(self) -> KeptRows:
        """Return which rows of the kept base files can match; reads footers and page indexes.

        Printed, it says how many row groups, pages and rows that are. Files of slices with log
        files are not evaluated, as log files may change any of their rows.
        """
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
