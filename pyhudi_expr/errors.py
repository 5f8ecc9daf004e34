"""Errors about a table's files. Every message names the table or the file, and the cause.

None of these may lose a row: a caller that catches one keeps the files that it could not evaluate.
"""

from __future__ import annotations


class HudiError(Exception):
    """The base of all errors of this package. The message names the table or the file, and why."""


class PyHudiWarning(UserWarning):
    """Something was not done as well as it could be, such as a predicate that was not evaluated."""


class QuotedColumnWarning(PyHudiWarning):
    """A column's name stands in quotes, which make it a text."""


class InvalidType(HudiError, TypeError):  # noqa: N818 - names the finding, as its siblings do
    """An argument has a type that is not accepted; the message says which types are."""


class InvalidValue(HudiError, ValueError):  # noqa: N818
    """An argument has a value that is not accepted; the message says which values are."""


class TableNotFound(HudiError):  # noqa: N818 - names the finding, as in Hudi
    """There is no Hudi table at the path."""


class UnsupportedTable(HudiError):  # noqa: N818
    """The table is of a version or uses a feature that this library does not read."""


class ExternalFiles(UnsupportedTable):
    """Other writers than Hudi made some of the table's files, and Hudi registered them."""


class UnknownColumn(HudiError, ValueError):  # noqa: N818 - names the finding
    """The table has no column of this name; the message has the nearest one."""


class BeforeFirstCommit(HudiError, ValueError):  # noqa: N818
    """The instant of a query is before the table's first commit."""


class CorruptFile(HudiError):  # noqa: N818
    """A file's bytes violate its format."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason


class FilterNotApplicable(HudiError):  # noqa: N818 - names the finding
    """The predicate cannot filter rows; the message names the part that cannot."""
