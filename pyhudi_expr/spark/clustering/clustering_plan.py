"""What a clustering rewrites: file slices, and plans on the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.rows.slice_files import FileSlice, file_slices
from pyhudi_expr.tables.listing import FileListing


class ClusteringFailed(HudiError):  # noqa: N818 - names the finding
    """Hudi refused or failed; the message says in which step, with Hudi's own words."""


@dataclass(frozen=True)
class SliceFiles:
    """A file slice to rewrite.

    Attributes:
        base: Path of the base file relative to the base path; "" if there is none.
        logs: Paths of the log files.
    """

    partition: str
    file_id: str
    base: str
    logs: tuple[str, ...]

    @staticmethod
    def of(one: FileSlice) -> SliceFiles:
        """Return a slice of a listing."""
        base = "" if one.base is None else one.path(one.base)
        return SliceFiles(one.partition, one.file_id, base, tuple(map(one.path, one.logs)))


def slice_files(listing: FileListing) -> Iterator[SliceFiles]:
    """Return the slices of a listing, largest first."""
    return map(SliceFiles.of, file_slices(listing))


@dataclass(frozen=True)
class PendingPlan:
    """A clustering that is planned or in progress.

    Attributes:
        parameters: The parameters of its strategy.
    """

    instant: str
    is_inflight: bool
    parameters: Mapping[str, str]
