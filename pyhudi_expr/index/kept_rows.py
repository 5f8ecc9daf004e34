"""The rows of kept base files that can match, by what their footers and page indexes prove.

A query that opens a kept file need not read all of it. The proof is about a file of this size and
footer, so it holds whatever happened to the table since. In a slice with log files it is about
those rows of the base file that no log file changes, and a reader has to merge the others as if
they all could match. What cannot be evaluated is read whole: files that are too small to pay off,
too many, or not read in time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.evaluate import evidence_at
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.rows.evaluation import RowEvaluation, RowRanges, evaluate
from pyhudi_expr.index.rows.file_reading import FileReader
from pyhudi_expr.index.rows.known_file import FileCache
from pyhudi_expr.index.statistics.evolved_column_stats import files_by_instant, former_names
from pyhudi_expr.tables.hudi_names import BOOTSTRAP_BASE_PATH
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import hidden_columns
from pyhudi_expr.tables.schema import SchemaHistory

_SUFFIX = ".parquet"


@dataclass(frozen=True)
class RowOptions:
    """Which files are evaluated.

    Attributes:
        most_files: If a query keeps more files, none is evaluated.
        least_bytes: Smaller files are read whole.
        seconds: Time for reading footers and page indexes; files that take longer are read whole.
        cache_bytes: Memory for what was read, in bytes.
    """

    most_files: int = 1000
    least_bytes: int = 1 << 20
    seconds: float = 0.5
    cache_bytes: int = 64 << 20


@dataclass(frozen=True, repr=False)
class KeptRows:
    """The rows of kept base files that can match, if no log file of their slice changes them.

    Attributes:
        files: The evaluated files, as ascending positions in the listing.
        rows: The rows of each.
        pages: Pages of the predicate's columns that were considered.
        pages_kept: Of these, those with rows that can match.
        notes: Why less was evaluated than could be.
    """

    files: Int64Array
    rows: Sequence[RowRanges]
    pages: int = 0
    pages_kept: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line, as there may be a thousand files."""
        return f"<KeptRows: {self}>"

    def __str__(self) -> str:
        """Return one line: the rows, pages and row groups that can match, of how many."""
        if not self.rows:
            return "; ".join(["all rows of the kept files are read", *self.notes])
        parts = (
            (self.groups_kept, self.groups, "row groups"),
            (self.pages_kept, self.pages, "pages"),
            (self.num_rows_kept, self.num_rows, "rows"),
        )
        counts = ", ".join(f"{kept:,} of {total:,} {what}" for kept, total, what in parts)
        return "; ".join([f"{counts} in {len(self.rows):,} evaluated files", *self.notes])

    def counts(self) -> dict[str, int]:
        """Return the numbers by their names."""
        return {
            "files": len(self.rows),
            "row_groups": self.groups,
            "row_groups_kept": self.groups_kept,
            "pages": self.pages,
            "pages_kept": self.pages_kept,
            "rows": self.num_rows,
            "rows_kept": self.num_rows_kept,
        }

    @property
    def num_rows(self) -> int:
        """Rows of the evaluated files."""
        return sum(one.file.footer.num_rows for one in self.rows)

    @property
    def num_rows_kept(self) -> int:
        """Of these, the rows that can match."""
        return sum(one.num_rows for one in self.rows)

    @property
    def groups(self) -> int:
        """Row groups of the evaluated files."""
        return sum(len(one.file.footer.group_rows) for one in self.rows)

    @property
    def groups_kept(self) -> int:
        """Of these, the ones with rows that can match."""
        return sum(len(one.groups) for one in self.rows)


#: For people who ask about one query: files of any size, read without haste.
OF_ANY_SIZE = RowOptions(least_bytes=0, seconds=60)


def without_merged_slices(result: PruneResult) -> PruneResult:
    """Return a result without its slices with log files, for a reader that merges none of them."""
    listing = result.listing
    return replace(result, keep=result.keep & ~listing.slice_has_logs)


class RowEvaluator:
    """Evaluates rows, and caches what it reads of files between requests. Thread safe."""

    def __init__(self, options: RowOptions | None = None) -> None:
        """Create one that has read nothing."""
        self._options = options or RowOptions()
        self._cache = FileCache(self._options.cache_bytes)

    @property
    def nbytes(self) -> int:
        """Memory of what was read, in bytes (estimated)."""
        return self._cache.nbytes

    def rows(self, result: PruneResult, table: HudiTable) -> KeptRows:
        """Return the rows of the kept base files that can match.

        Args:
            result: The kept files.
            table: Their table.
        """
        partition_columns = {name.lower() for name in table.properties.partition_fields}
        needed = columns(result.predicate)
        # Readers may show a partition's path instead; evidence about files has their values.
        unread = hidden_columns(table.properties) | {
            name for name in needed if name.lower() in partition_columns
        }
        if not self._options.most_files or needed.keys() <= unread:
            return _nothing()
        if BOOTSTRAP_BASE_PATH in table.properties.raw:
            return _nothing("rows are not evaluated: the table was made by bootstrap")
        if result.is_evolved and result.schema_history is None:
            return _nothing("rows are not evaluated: how columns were changed is not known")
        positions = self._positions(result)
        most = self._options.most_files
        if len(positions) > most:
            return _nothing(f"rows are not evaluated: more than {most:,} files are kept")
        return self._evaluated(result, table, positions, frozenset(unread))

    def _positions(self, result: PruneResult) -> Int64Array:
        """Return the base files that are large enough.

        Of an evolved table only those that are slices of their own: former names are
        known for these.
        """
        listing = result.listing
        kept = listing.files_of(result.kept.positions)
        firsts = kept.starts
        if result.is_evolved:
            firsts = firsts[np.diff(np.append(firsts, kept.num_files)) == 1]
        files = kept.files[firsts[~kept.file_is_log[firsts]]]
        return files[listing.file_size[files] >= self._options.least_bytes]

    def _evaluated(
        self,
        result: PruneResult,
        table: HudiTable,
        positions: Int64Array,
        unread: frozenset[str],
    ) -> KeptRows:
        listing = result.listing
        wanted = list(
            zip(listing.paths(positions), listing.file_size[positions].tolist(), strict=True)
        )
        reader = FileReader(table.storage, self._cache, time.monotonic() + self._options.seconds)
        opened = reader.files(wanted)
        is_known = np.array(
            [file is not None and file.footer.is_alone for file in opened], np.bool_
        )
        evaluated = positions[is_known]
        files = [file for file, is_ in zip(opened, is_known, strict=True) if file and is_]
        if result.schema_history is not None:
            names = _former_names(result, result.schema_history, evaluated)
            files = [file.with_names(of_file) for file, of_file in zip(files, names, strict=True)]
        evidence = [evidence_at(source.evidence, evaluated) for source in result.evidence]
        found = evaluate(result.predicate, files, unread, evidence, reader)
        return _kept_rows(evaluated, found, reader.is_late)


def _former_names(
    result: PruneResult, history: SchemaHistory, files: Int64Array
) -> list[dict[str, BoundColumn | None]]:
    """Return for each file its names of the predicate's columns; None: nothing is known of one.

    Args:
        result: What was pruned.
        history: The versions of the schema.
        files: Base files that are slices of their own, as ascending positions.
    """
    listing = result.listing.at(result.listing.file_slice[files].astype(np.int64))
    by_instant = files_by_instant(listing)
    found = [dict[str, BoundColumn | None]() for _ in range(len(files))]
    for name, column in columns(result.predicate).items():
        for of_file in found:
            of_file[name] = None
        for then, flags in former_names(column, history, listing, by_instant).items():
            for at in np.flatnonzero(flags).tolist():
                found[at][name] = then
    return found


def _kept_rows(files: Int64Array, found: RowEvaluation, is_late: bool) -> KeptRows:
    notes = (
        ("rows of some files are not evaluated: their footers took too long",) if is_late else ()
    )
    return KeptRows(files, found.files, found.pages, found.pages_kept, notes)


def _nothing(*notes: str) -> KeptRows:
    return KeptRows(np.zeros(0, np.int64), (), notes=notes)
