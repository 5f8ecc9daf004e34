"""Compares what was made of an earlier instant with what is made as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index import known_tables
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.service.answers.encoding import counts, kept_slices, verdicts
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store import listing_state
from tests.index.prune.matching_slices import request

_TEXTS = ("partitions", "slice_file_id", "slice_base_instant", "file_name", "file_instants")
_NUMBERS = (
    *("slice_partition", "file_slice", "file_size", "file_is_log"),
    *("partition_file_bounds", "partition_token_bytes"),
)


@contextmanager
def small_tables_followed() -> Iterator[None]:
    """Lets a new instant be made of the earlier one, however few files the table has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing_state, "LEAST_FILES", 1)
        patch.setattr(known_tables, "LEAST_SHARE", 1)
        yield


def is_followed(snapshot: TableSnapshot) -> bool:
    """Whether a snapshot was made of an earlier one."""
    return not snapshot.listing.is_whole


def assert_as_made_anew(
    pruner: Pruner, path: Path | str, texts: Iterable[str], options: PruneOptions | None = None
) -> bool:
    """Asserts that a pruner's snapshot of a table, and its answers, are those of a new one.

    Returns whether the snapshot was made of an earlier one.
    """
    asked = [request(text) for text in texts]
    fresh = Pruner(options or PruneOptions(footer_wait=20))
    snapshot, whole = (one.open(str(path)) for one in (pruner, fresh))
    assert not is_followed(whole)
    # The answers first: they take names and bounds of some files only.
    for one in asked:
        _assert_same_answers(pruner, snapshot, fresh, whole, one)
    assert_same_listing(snapshot.listing, whole.listing)
    assert_same_bounds(snapshot, whole, asked)
    return is_followed(snapshot)


def _assert_same_answers(
    pruner: Pruner,
    snapshot: TableSnapshot,
    fresh: Pruner,
    whole: TableSnapshot,
    asked: PruneRequest,
) -> None:
    found, expected = pruner.prune_snapshot(snapshot, asked), fresh.prune_snapshot(whole, asked)
    assert found.notes == expected.notes
    assert found.kept_paths() == expected.kept_paths(), asked
    assert found.partition_keep.tolist() == expected.partition_keep.tolist()
    assert found.dropped_by == expected.dropped_by
    assert verdicts(found) == verdicts(expected)
    assert counts(found, 0, None) == counts(expected, 0, None)
    timelines = snapshot.table.timeline, whole.table.timeline
    assert kept_slices(found, timelines[0]) == kept_slices(expected, timelines[1])


def assert_same_listing(found: FileListing, expected: FileListing) -> None:
    """Asserts that two listings have the same slices, and what follows from them."""
    assert (found.instant, found.view) == (expected.instant, expected.view)
    assert [found.digest(n) for n in range(len(found.partitions))] == [
        expected.digest(n) for n in range(len(expected.partitions))
    ]
    every = np.arange(found.num_files)
    if len(every):
        assert found.token_bytes(every).tolist() == expected.token_bytes(every).tolist()
        assert found.partitions_of(every).tolist() == expected.partitions_of(every).tolist()
        some = every[:: max(len(every) // 7, 1)]
        assert found.tokens_at(some).to_pylist() == expected.tokens_at(some).to_pylist()
        assert found.paths(some) == expected.paths(some)
        assert _slices(found.at(every[: found.num_slices : 2])) == _slices(
            expected.at(every[: found.num_slices : 2])
        )
    for name in _NUMBERS:
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert _slices(found) == _slices(expected)
    assert set(_pairs(found)) == set(_pairs(expected))
    _assert_zones(found)


def _slices(listing: FileListing) -> list[list[object]]:
    return [getattr(listing, name).to_pylist() for name in _TEXTS]


def _pairs(listing: FileListing) -> list[tuple[int, object]]:
    partitions, instants = listing.partition_instants
    return list(zip(partitions.tolist(), instants.to_pylist(), strict=True))


def _assert_zones(listing: FileListing) -> None:
    bounds = listing.zone_bounds
    assert (np.diff(bounds) > 0).all()
    assert bounds[-1] == listing.num_slices
    slices = np.arange(listing.num_slices)
    zones = listing.zones_of(slices)
    assert ((bounds[zones] <= slices) & (slices < bounds[zones + 1])).all()


def assert_same_bounds(
    snapshot: TableSnapshot, whole: TableSnapshot, asked: Iterable[PruneRequest]
) -> None:
    """Asserts that two snapshots have the same bounds of files and partitions."""
    for column in _columns(whole, asked):
        _assert_same(_file_bounds(snapshot, column), _file_bounds(whole, column), column)
        if whole.partition_stats is not None:
            assert snapshot.partition_stats is not None
            for one in (snapshot, whole):
                assert one.partition_stats is not None
                one.partition_stats.load(column)
            _assert_same(
                snapshot.partition_stats.bounds(column),
                whole.partition_stats.bounds(column),
                column,
            )


def _columns(snapshot: TableSnapshot, asked: Iterable[PruneRequest]) -> list[BoundColumn]:
    found: dict[BoundColumn, None] = {}
    for one in asked:
        bound = bind(one.predicate, snapshot.scope.of(one.semantics))
        found.update(dict.fromkeys(columns(bound).values()))
    return list(found)


def _file_bounds(snapshot: TableSnapshot, column: BoundColumn) -> Bounds | None:
    if snapshot.column_stats is None:
        return None
    everywhere = np.ones(len(snapshot.listing.partitions), np.bool_)
    loaded = snapshot.column_stats.load([column], everywhere, 20)
    bounds = loaded.bounds(column)
    if bounds is not None and loaded.zones is not None:
        zones = loaded.zones.bounds(column)
        assert zones is not None
        _assert_zones_hold(snapshot.listing, bounds, zones)
    return bounds


def _assert_zones_hold(listing: FileListing, bounds: Bounds, zones: Bounds) -> None:
    """A zone's bounds hold for each of its files."""
    zone = np.asarray(listing.zones_of(listing.file_slice.astype(np.int64)))
    for may_be in ("may_be_value", "may_be_null"):
        of_zone, of_file = np.asarray(getattr(zones, may_be)), np.asarray(getattr(bounds, may_be))
        assert (of_zone[zone] | ~of_file).all()
    lower, upper = (_values(end) for end in (bounds.lower, bounds.upper))
    least, greatest = (_values(end) for end in (zones.lower, zones.upper))
    for file, number in enumerate(zone.tolist()):
        if bounds.may_be_value[file]:
            assert least[number] is None or lower[file] is None or least[number] <= lower[file]
            assert least[number] is None or lower[file] is not None
            assert greatest[number] is None or greatest[number] >= upper[file]


def _assert_same(found: Bounds | None, expected: Bounds | None, column: BoundColumn) -> None:
    assert (found is None) == (expected is None), column
    if found is None or expected is None:
        return
    for name in ("lower", "upper", "may_be_value", "may_be_null"):
        assert _values(getattr(found, name)) == _values(getattr(expected, name)), (column, name)


def _values(values: object) -> list[object]:
    if isinstance(values, np.ndarray):
        return values.tolist()
    assert isinstance(values, pa.Array)
    return values.to_pylist()
