"""What an audit finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyhudi_expr.index.catalog.registry import Store


class Reader(str, Enum):
    """Whose queries lose rows."""

    HUDI = "hudi"
    """Readers of Hudi that skip files by its metadata table, and engines with Hudi's file index."""
    PYHUDI = "pyhudi"
    """This package."""


class Severity(str, Enum):
    """What a finding does to queries."""

    ROWS_LOST = "rows lost"
    """A query returns too few rows, or wrong ones."""
    QUERY_FAILS = "query fails"
    """A query or a writer stops with an error."""
    SLOWER = "slower"
    """Queries are right, and read more files than they have to."""


class Fault(str, Enum):
    """The kinds of findings; the values are stable names for programs."""

    UNREADABLE = "unreadable"
    PARTITION_MISSING = "partition_missing"
    FILE_LOST = "file_lost"
    FILE_MISPLACED = "file_misplaced"
    DEFINITION_MISSING = "definition_missing"
    LAGGING = "lagging"
    WRONG_SHARD = "wrong_shard"

    FILE_GONE = "file_gone"
    FILE_NOT_LISTED = "file_not_listed"
    SIZE_WRONG = "size_wrong"
    PARTITION_NOT_LISTED = "partition_not_listed"

    ENTRY_MISSING = "entry_missing"
    OTHER_FILE_NAMED = "other_file_named"
    OTHER_COLUMN_NAMED = "other_column_named"
    RANGE_TOO_NARROW = "range_too_narrow"
    RANGE_TOO_WIDE = "range_too_wide"
    RANGE_MISSING = "range_missing"
    RANGE_INVERTED = "range_inverted"
    RANGE_WITHOUT_NAN = "range_without_nan"
    RANGE_IN_UTF16_ORDER = "range_in_utf16_order"
    RANGE_OF_OTHER_TYPE = "range_of_other_type"
    VALUES_CALLED_NULLS = "values_called_nulls"
    NULLS_DENIED = "nulls_denied"
    NULL_COUNT_WRONG = "null_count_wrong"
    VALUE_COUNT_WRONG = "value_count_wrong"

    KEY_MISSING = "key_missing"
    KEY_MISPLACED = "key_misplaced"
    KEY_DELETED = "key_deleted"
    KEY_TWICE = "key_twice"
    VALUE_MISSING = "value_missing"
    VALUE_STALE = "value_stale"

    FILTER_UNREADABLE = "filter_unreadable"
    FILTER_LACKS_KEYS = "filter_lacks_keys"
    RESULT_OUTSIDE_RANGE = "result_outside_range"

    COVERED_ROWS_WRONG = "covered_rows_wrong"

    STORED_KEY_MISSING = "stored_key_missing"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        partition: The metadata partition, such as `column_stats`.
        file: The file that the entry is about, or the damaged one, from the table's base path.
        subject: What in it: a column, a key, a partition of the table; may be empty.
        expected: What the files say.
        found: What the metadata says.
        queries: Which queries lose rows, fail, or read too much.
        readers: Whose queries lose rows; empty if none does.
        remedy: What mends it.
    """

    store: Store
    partition: str
    fault: Fault
    severity: Severity
    file: str
    subject: str
    expected: str
    found: str
    queries: str
    readers: tuple[Reader, ...]
    remedy: str

    @property
    def place(self) -> str:
        """The file, and what in it."""
        return f"{self.file} ({self.subject})" if self.subject else self.file


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes:
        instant: The newest commit.
        checked: The metadata partitions that were checked, as "store partition".
        slices: The number of file slices that were checked, of `slices_total`.
        seed: Draws the same slices again; None if all were checked.
        unchecked: What could not be checked, and why.
    """

    table: str
    instant: str | None
    checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]
    slices: int
    slices_total: int
    seed: int | None

    @property
    def worst(self) -> Severity | None:
        """The worst of the findings; None if there are none."""
        found = {finding.severity for finding in self.findings}
        return next((severity for severity in Severity if severity in found), None)
