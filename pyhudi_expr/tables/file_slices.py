"""Select the file slices that a query sees: Hudi's file system view, for all files at once.

A file group's slices are named by their base instants. Slices of incomplete writes are not visible.
Of the complete ones, the newest at or before the requested instant is visible. Groups that a
completed replace commit replaced are not visible.

* Layout 1: a log file's name has its slice's base instant.
* Layout 2: a log file belongs to the newest slice whose base instant is not after the log's
  completion time; logs older than every base file form one slice without a base file. Log files of
  incomplete writes are not visible.
* A pending compaction opens a new slice without a base file; a query sees it merged with the slice
  before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    AnyDictionaryArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_list,
    numpy_flags,
    numpy_numbers,
    string_list,
)
from pyhudi_expr.tables.hudi_names import ParsedNames, base_files, log_files
from pyhudi_expr.tables.listing import FileListing, ListingPart, StoredFiles, TableView
from pyhudi_expr.tables.positions import distinct_texts, sorted_texts
from pyhudi_expr.tables.timeline import Timeline

_Scalar = TypeVar("_Scalar", bound=np.generic)
GroupId = tuple[str, str]
"""Partition path and file id."""


@dataclass(frozen=True)
class SliceRules:
    """What decides which slices are visible.

    Attributes:
        timeline: The whole active timeline.
        as_of: Newest requested time that counts; None for all.
        replaced: File groups replaced at or before `as_of`.
        pending_compactions: For each file group the requested time of its pending compaction.
        completion_time: Returns the completion time of a requested time, None while pending; not
            called in layout 1.
        with_logs: False for copy on write.
    """

    timeline: Timeline
    as_of: str | None
    layout: int
    base_format: str
    with_logs: bool
    replaced: frozenset[GroupId]
    pending_compactions: Mapping[GroupId, str]
    completion_time: Callable[[str], str | None]

    @property
    def visible(self) -> Timeline:
        """The timeline up to `as_of`."""
        return self.timeline if self.as_of is None else self.timeline.as_of(self.as_of)


def select_slices(files: StoredFiles, rules: SliceRules, view: TableView) -> FileListing:
    """Return the slices that a query sees, with their files.

    READ_OPTIMIZED gives the base files of the slices that SNAPSHOT gives.
    """
    visible = rules.visible
    instant = visible.last_write.requested if visible.last_write else None
    names = _Names.of(files, rules)
    groups, instants = names.groups, names.instants
    compactions = groups.keys_of(rules.pending_compactions.items(), instants)

    base_slice = instants.slice_key(groups.base, instants.base)
    complete = instants.complete[instants.base]
    bases_kept, base_slice = names.base_row[complete], base_slice[complete]
    log_slice, log_seen = _slices_of_logs(groups, instants, base_slice, compactions, rules)

    # The visible slices, and the slice that each one is shown as.
    slices = _distinct(np.concatenate([base_slice, compactions, log_slice[log_seen]]))
    slices = slices[instants.committed[slices % instants.count]]
    slices = slices[~np.isin(slices // instants.count, groups.replaced(rules.replaced))]
    shown_as, seen = _latest_merged(slices, compactions, instants.count)

    rows = np.concatenate([bases_kept, names.log_row[log_seen]])
    of_slice = np.concatenate([base_slice, log_slice[log_seen]])
    is_log = np.arange(len(rows)) >= len(bases_kept)
    order = np.concatenate([np.zeros(len(bases_kept), np.int64), names.log_order[log_seen]])
    position = _searched(seen, of_slice)
    kept = position < len(seen)
    kept[kept] = seen[position[kept]] == of_slice[kept]
    if view is TableView.READ_OPTIMIZED:
        kept &= ~is_log
    rows, is_log, order = rows[kept], is_log[kept], order[kept]
    return _assemble(
        files, groups, instants, rows, shown_as[position[kept]], is_log, order, instant, view
    )


@dataclass(frozen=True)
class _Names:
    """File names as numbers; the texts take more memory and are not kept.

    Attributes:
        base_row: Rows of the base files among all files.
        log_row: Rows of the log files among all files.
        log_order: A number for each log file, ascending in the order of merging.
    """

    groups: _Groups
    instants: _Instants
    base_row: Int64Array
    log_row: Int64Array
    log_order: Int64Array

    @staticmethod
    def of(files: StoredFiles, rules: SliceRules) -> _Names:
        bases = base_files(files.name, rules.base_format)
        logs = log_files(files.name if rules.with_logs else files.name.slice(0, 0))
        groups, instants = _Groups.of(files, bases, logs), _Instants.of(bases, logs, rules)
        return _Names(groups, instants, bases.row, logs.row, _log_order(files, logs, instants))


@dataclass(frozen=True)
class _Groups:
    """File groups as numbers: partition index * number of file ids + rank of the file id."""

    partitions: AnyArray
    file_ids: AnyArray
    base: Int64Array
    log: Int64Array

    @staticmethod
    def of(files: StoredFiles, bases: ParsedNames, logs: ParsedNames) -> _Groups:
        ids, rank = distinct_texts(pa.concat_arrays([bases.file_id, logs.file_id]))
        partition = files.partition.astype(np.int64)
        base_rank, log_rank = rank[: len(bases.row)], rank[len(bases.row) :]
        count = max(len(ids), 1)
        return _Groups(
            files.partitions,
            ids,
            partition[bases.row] * count + base_rank,
            partition[logs.row] * count + log_rank,
        )

    @property
    def count(self) -> int:
        return max(len(self.file_ids), 1)

    def numbers(self, groups: Iterable[GroupId]) -> tuple[Int64Array, BoolArray]:
        """Return the groups' numbers, and for each whether the table has files of it."""
        pairs = list(groups)
        if not pairs:
            return np.zeros(0, np.int64), np.zeros(0, np.bool_)
        partition = pc.index_in(arrow_list([p for p, _ in pairs], pa.string()), self.partitions)
        file_id = pc.index_in(arrow_list([i for _, i in pairs], pa.string()), self.file_ids)
        known = pc.and_(pc.is_valid(partition), pc.is_valid(file_id))
        number = _int64(partition) * self.count + _int64(file_id)
        return number, numpy_flags(known)

    def replaced(self, groups: Iterable[GroupId]) -> Int64Array:
        number, known = self.numbers(groups)
        return number[known]

    def keys_of(self, slices: Iterable[tuple[GroupId, str]], instants: _Instants) -> Int64Array:
        """Return the sorted keys of slices given by group and base instant."""
        pairs = list(slices)
        number, known = self.numbers(group for group, _ in pairs)
        rank = np.array([instants.rank[instant] for _, instant in pairs], np.int64)
        return _distinct(instants.slice_key(number[known], rank[known]))


@dataclass(frozen=True)
class _Instants:
    """The instants in file names as ranks in string order, with their states on the timeline."""

    values: list[str]
    rank: dict[str, int]
    base: Int64Array
    log: Int64Array
    complete: BoolArray
    """The write completed (or is older than the timeline) and is not newer than the requested
    instant."""
    committed: BoolArray
    """A slice of this base instant is seen: complete, or a pending compaction."""

    @staticmethod
    def of(bases: ParsedNames, logs: ParsedNames, rules: SliceRules) -> _Instants:
        base, log = bases.instant.dictionary_encode(), logs.instant.dictionary_encode()
        pending = set(rules.pending_compactions.values())
        values = sorted({*string_list(base.dictionary), *string_list(log.dictionary), *pending})
        rank = {value: i for i, value in enumerate(values)}
        visible, limit = rules.visible, rules.as_of
        complete = np.array(
            [visible.is_committed(v) and (limit is None or v <= limit) for v in values], np.bool_
        )
        complete &= np.array([v not in pending for v in values], np.bool_)
        return _Instants(
            values,
            rank,
            _ranks(base, rank),
            _ranks(log, rank),
            complete,
            complete | np.array([v in pending for v in values], np.bool_),
        )

    @property
    def count(self) -> int:
        return max(len(self.values), 1)

    def slice_key(self, group: Int64Array, rank: Int64Array) -> Int64Array:
        return group * self.count + rank


def _slices_of_logs(
    groups: _Groups,
    instants: _Instants,
    base_slice: Int64Array,
    compactions: Int64Array,
    rules: SliceRules,
) -> tuple[Int64Array, BoolArray]:
    """Return for each log file its slice's key, and whether a query sees it."""
    if rules.layout == 1:
        return instants.slice_key(groups.log, instants.log), np.ones(len(groups.log), np.bool_)
    used = np.flatnonzero(np.bincount(instants.log, minlength=instants.count))
    reached = np.full(instants.count, -1, np.int64)
    for rank in used.tolist():
        completed = rules.completion_time(instants.values[rank])
        if completed is not None:
            # The newest instant that is not after the completion time.
            reached[rank] = np.searchsorted(np.array(instants.values), completed, "right") - 1
    newest = reached[instants.log]
    seen = newest >= 0
    if rules.as_of is not None:
        seen &= instants.complete[instants.log]
    opened = _distinct(np.concatenate([base_slice, compactions]))
    position = np.searchsorted(opened, instants.slice_key(groups.log, newest), "right") - 1
    candidate = opened[position] if len(opened) else np.full(len(position), -1, np.int64)
    has_slice = (position >= 0) & (candidate // instants.count == groups.log)
    slice_key = np.where(has_slice, candidate, -1)
    orphans = np.flatnonzero(seen & ~has_slice)
    # Logs older than every base file form one slice, named by the first of them.
    owners, owner = np.unique(groups.log[orphans], return_inverse=True)
    first = np.full(len(owners), instants.count, np.int64)
    np.minimum.at(first, owner, instants.log[orphans])
    slice_key[orphans] = instants.slice_key(groups.log[orphans], first[owner])
    return slice_key, seen


def _latest_merged(
    slices: Int64Array, compactions: Int64Array, instants: int
) -> tuple[Int64Array, Int64Array]:
    """Return the newest slice of each group and, if it awaits compaction, the one before it.

    The slices are sorted keys. The result is the key that each of these slices is shown as (that of
    the older one of the two), and their own keys, sorted.
    """
    group = slices // instants
    last = np.flatnonzero(np.append(group[1:] != group[:-1], True)) if len(slices) else group
    before = last - 1
    merged = np.isin(slices[last], compactions) & (before >= 0)
    merged[merged] = group[before[merged]] == group[last[merged]]
    own = np.concatenate([slices[last], slices[before[merged]]])
    label = (
        np.concatenate(
            [np.where(merged, slices[np.maximum(before, 0)], slices[last]), slices[before[merged]]]
        )
        if len(slices)
        else own
    )
    order = np.argsort(own)
    return label[order], own[order]


def _log_order(files: StoredFiles, logs: ParsedNames, instants: _Instants) -> Int64Array:
    names = files.name.take(arrow_array(logs.row))
    by_name = np.empty(len(names), np.int64)
    by_name[numpy_numbers(pc.array_sort_indices(names))] = np.arange(len(names))
    order = np.empty(len(names), np.int64)
    order[np.lexsort((by_name, logs.version, instants.log))] = np.arange(len(names))
    return order


def _assemble(
    files: StoredFiles,
    groups: _Groups,
    instants: _Instants,
    rows: Int64Array,
    slice_key: Int64Array,
    is_log: BoolArray,
    order: Int64Array,
    instant: str | None,
    view: TableView,
) -> FileListing:
    partitions, partition_rank = sorted_texts(files.partitions)
    group = slice_key // instants.count
    file_partition = partition_rank[group // groups.count]
    # One number that sorts slices by partition and file id; a group shows one slice at most.
    slice_order = file_partition * groups.count + group % groups.count
    sorting = np.argsort(slice_order)
    if _has_equal_neighbours(slice_order[sorting]):
        sorting = np.lexsort((files.size[rows], order, is_log, slice_order))
    rows, is_log, slice_order = rows[sorting], is_log[sorting], slice_order[sorting]
    slice_key, file_partition, group = slice_key[sorting], file_partition[sorting], group[sorting]
    # Task retries can leave a base file twice; the larger one counts.
    again = np.zeros(len(rows), np.bool_)
    again[:-1] = (slice_order[1:] == slice_order[:-1]) & ~is_log[1:]
    rows, is_log, slice_order = rows[~again], is_log[~again], slice_order[~again]
    slice_key, file_partition, group = slice_key[~again], file_partition[~again], group[~again]

    first, file_slice = _runs(slice_order)
    of_slices = file_partition[first]
    begins, slice_partition = _runs(of_slices)
    base_instants = arrow_list(instants.values, pa.string())
    part = ListingPart(
        partitions=partitions.take(arrow_array(of_slices[begins])),
        slice_partition=_frozen(slice_partition.astype(np.int32)),
        slice_file_id=groups.file_ids.take(arrow_array(group[first] % groups.count)),
        slice_base_instant=base_instants.take(arrow_array(slice_key[first] % instants.count)),
        file_slice=_frozen(file_slice.astype(np.int32)),
        file_name=files.name.take(arrow_array(rows)),
        file_size=_frozen(files.size[rows]),
        file_is_log=_frozen(is_log),
    )
    return FileListing.of(instant, view, part)


def _distinct(keys: Int64Array) -> Int64Array:
    """Return the distinct keys, sorted; numpy's `unique` hashes, which is far slower."""
    ordered = np.sort(keys)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _runs(ordered: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return where each run of equal keys begins, and for each key the number of its run."""
    begins = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.flatnonzero(begins), np.cumsum(begins) - 1


def _searched(ordered: Int64Array, keys: Int64Array) -> Int64Array:
    """Return `numpy.searchsorted`, which takes several times as long for keys in no order."""
    order = np.argsort(keys)
    position = np.empty(len(keys), np.int64)
    position[order] = np.searchsorted(ordered, keys[order])
    return position


def _has_equal_neighbours(keys: Int64Array) -> bool:
    return bool((keys[1:] == keys[:-1]).any())


def _frozen(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    array.flags.writeable = False
    return array


def _ranks(encoded: AnyDictionaryArray, rank: Mapping[str, int]) -> Int64Array:
    of_value = np.array([rank[value] for value in string_list(encoded.dictionary)], np.int64)
    return of_value[_int64(encoded.indices)]


def _int64(array: AnyArray) -> Int64Array:
    return numpy_numbers(array).astype(np.int64)
