"""Which files of a merge-on-read table an index of rows is known to describe.

Hudi 1.2 updates only the first of several secondary indexes when a delta commit writes log files
(it adds the new log files to the very slice that it compares the others' new values with). The
others keep an entry for each key, with the older value. The index itself does not show this, so
coverage is derived from the timeline alone. A file is *covered* if its instant is

* complete when the index action was requested, and not after the instant up to which the index was
  built from all rows (`indexUptoInstant` of the action's metadata); or
* before the first later write that added log files. Until then every write made base files, which
  indexes follow as they do in copy-on-write tables.

Files of later instants are not covered: even a base file may hold what a compaction took over from
log files, or a key that was deleted in a log file while its old entry stayed. If the later writes
are archived, only the first rule applies. Without a completed index action no file is covered.

These rules cost no reads. Slices that they do not cover are compared with the index
(`index.lookups.slice_proofs`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, string_list
from pyhudi_expr.tables.hudi_names import log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableType
from pyhudi_expr.tables.timeline.timeline import IndexBuild

_LOG_FILE_PER_WRITE = 2
"""The timeline's layout where a log file's name tells its write, and completion times are kept."""


def covered_slices(mdt: MetadataTable, listing: FileListing, index: str) -> BoolArray:
    """Return for each slice whether the index is known to describe all its files.

    Args:
        mdt: The metadata table; the data table may be of either type.
        listing: The files and slices.
        index: Name of the index's metadata partition.

    Raises:
        HudiError: The timeline cannot be read.
    """
    table = mdt.table
    if table.properties.table_type is TableType.COPY_ON_WRITE:
        return np.ones(listing.num_slices, np.bool_)
    build = _newest_build(table, index)
    if build is None:
        return np.zeros(listing.num_slices, np.bool_)
    covered = _of_build(table, listing, build)
    if all(completed <= build.announced for completed in table.archived_times.values()):
        covered |= _later_without_logs(table, build)
    return _slices_with_all(listing, covered)


def _of_build(table: HudiTable, listing: FileListing, build: IndexBuild) -> set[str]:
    """Return the instants of files that the index was built from."""
    distinct = string_list(listing.file_instants.unique())
    return {instant for instant in distinct if _is_built_from(table, instant, build)}


def _slices_with_all(listing: FileListing, instants: set[str]) -> BoolArray:
    """Return the slices whose files are all of these instants."""
    known = pa.array(sorted(instants), pa.string())
    flags = pc.is_in(listing.file_instants, known).to_numpy(zero_copy_only=False)
    return ~listing.any_file_of_slice(~flags)


def _newest_build(table: HudiTable, index: str) -> IndexBuild | None:
    """Return the build that files' instants can be compared with; None if there is none."""
    if table.properties.timeline_layout != _LOG_FILE_PER_WRITE:
        return None
    builds = [
        build
        for action in table.timeline.index_actions
        for build in table.index_builds(action)
        if build.partition == index
    ]
    return max(builds, key=lambda build: build.announced, default=None)


def _is_built_from(table: HudiTable, instant: str, build: IndexBuild) -> bool:
    completed = table.completion_time(instant)
    return instant <= build.upto and completed is not None and completed <= build.announced


def _later_without_logs(table: HudiTable, build: IndexBuild) -> set[str]:
    """Return the writes after the build and before the first of them that added log files."""
    found: set[str] = set()
    for write in table.timeline.writes:
        if _is_built_from(table, write.requested, build):
            continue
        files = [path for paths in table.commit_metadata(write).written.values() for path in paths]
        if len(log_files(pa.array([path.rpartition("/")[2] for path in files], pa.string())).row):
            return found
        found.add(write.requested)
    return found
