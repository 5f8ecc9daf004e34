"""Zones exclude no file that its own bounds keep, and never change which files are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.tables.synthetic import ROWS_PER_FILE, write_table
from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.expr.evaluate import Statistics, StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index import slice_sets
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.index.statistics import column_stats
from pyhudi_expr.index.statistics.column_bounds import zone_bounds
from pyhudi_expr.tables import listing
from tests.example_counts import examples
from tests.expr.strategies import Case, cases
from tests.expr.test_soundness import assert_sound
from tests.index.statistics_entries import column

INTEGERS, TEXTS = column(pa.int64()).domain, column(pa.string()).domain
FILES, PARTITIONS = 240, 6
ROWS = FILES * ROWS_PER_FILE
PREDICATES = [
    f"spread < {ROWS // 40}",
    f"NOT (spread >= {ROWS // 40})",
    f"spread < {ROWS // 2} AND (amount > {ROWS / 8} OR code >= 'item-{ROWS // 20:010d}')",
    f"spread IN (5, {ROWS // 3}, {ROWS - 1})",
    "code LIKE 'item-00001%'",
    "amount IS NULL OR code IS NOT NULL AND spread = 77",
    "day = '2020-01-03' AND id > 1000",
    "day = '2020-01-03' AND spread > 1000 OR day > '2020-01-05' AND spread < 90000",
    f"abs(spread - {ROWS // 3}) < 1000",
    "id >= 0",
    "id < 0",
    "missing = 3 OR id = 12345",
]


@dataclass(frozen=True)
class ZoneStatistics:
    """The zones over files with statistics."""

    files: Statistics
    starts: Int64Array

    def bounds(self, column: BoundColumn) -> Bounds | None:
        found = self.files.bounds(column)
        return None if found is None else zone_bounds(found, self.starts, column.domain)


SETTINGS = settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def zone_starts(case: Case, data: st.DataObject) -> Int64Array:
    files = len(case.files)
    others = st.sets(st.integers(1, files - 1)) if files > 1 else st.just(set())
    return np.array([0, *sorted(data.draw(others))], np.int64)


@SETTINGS
@given(cases(), st.data())
def test_no_engine_finds_a_row_in_an_excluded_zone(case: Case, data: st.DataObject) -> None:
    starts = zone_starts(case, data)
    ends = [*starts[1:].tolist(), len(case.files)]
    rows = [
        tuple(row for file in case.files[start:end] for row in file)
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]
    assert_sound(replace(case, files=rows, statistics=ZoneStatistics(case.statistics, starts)))


@SETTINGS
@given(cases(), st.data())
def test_a_zone_is_kept_if_one_of_its_files_is(case: Case, data: st.DataObject) -> None:
    """Files without a value of a column count for less in a zone than by themselves."""
    files, starts = len(case.files), zone_starts(case, data)
    bound = bind(case.predicate, Scope(case.schema, here(case.table.zone)))
    of_zones = StatisticsEvidence(ZoneStatistics(case.statistics, starts))
    has_values = np.array([bool(rows) for rows in case.files])
    for needed in columns(bound).values():
        has_values &= [any(row[needed.name] is not None for row in rows) for rows in case.files]
    for truth in (True, False):
        own = as_array(may_be(bound, truth, [StatisticsEvidence(case.statistics)]), files)
        zones = as_array(may_be(bound, truth, [of_zones]), len(starts))
        assert not (np.logical_or.reduceat(own & has_values, starts) & ~zones).any()


def bounds(lower: Sequence[Any], upper: Sequence[Any], has_value: str, has_null: str) -> Bounds:
    flags = (np.array([flag == "1" for flag in flags]) for flags in (has_value, has_null))
    return Bounds(lower, upper, *flags)


def test_the_bounds_of_a_zone_hold_for_all_of_its_files() -> None:
    least, greatest = listing_ends()
    given_bounds = bounds(np.array([5, 3, least, 7]), np.array([9, 4, 8, greatest]), "1111", "0100")
    found = zone_bounds(given_bounds, np.array([0, 2]), INTEGERS)
    assert (found.lower.tolist(), found.upper.tolist()) == ([3, least], [9, greatest])
    assert (found.may_be_value.tolist(), found.may_be_null.tolist()) == ([True] * 2, [True, False])


def test_files_without_a_value_do_not_widen_a_zone() -> None:
    least, greatest = listing_ends()
    given_bounds = bounds(
        np.array([5, least, least]), np.array([9, greatest, greatest]), "100", "011"
    )
    found = zone_bounds(given_bounds, np.array([0, 2]), INTEGERS)
    assert (found.lower.tolist(), found.upper.tolist()) == ([5, least], [9, greatest])
    assert (found.may_be_value.tolist(), found.may_be_null.tolist()) == ([True, False], [True] * 2)


def test_an_unknown_text_makes_its_zone_unknown() -> None:
    texts = pa.array([b"b", b"a", b"c", None, b"d", None], pa.large_binary())
    found = zone_bounds(bounds(texts, texts, "111110", "000001"), np.array([0, 2, 4]), TEXTS)
    assert found.lower.to_pylist() == [b"a", None, b"d"]
    assert found.upper.to_pylist() == [b"b", None, b"d"]


def listing_ends() -> tuple[int, int]:
    limits = np.iinfo(np.int64)
    return int(limits.min), int(limits.max)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    write_table(target, files=FILES, partitions=PARTITIONS)
    return str(target)


@pytest.mark.parametrize("slices", [1, 7, 40, 64])
def test_the_same_files_are_kept_with_and_without_zones(
    table: str, slices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = [Pruner().prune(table, PruneRequest(parse_predicate(sql))) for sql in PREDICATES]
    assert {0, 1, FILES} < {result.files_kept for result in without}
    monkeypatch.setattr(listing, "ZONE_SLICES", slices)
    monkeypatch.setattr(column_stats, "_LEAST_ZONES", 1)
    monkeypatch.setattr(slice_sets, "_FEW", 1)
    pruner, evaluated_apart = Pruner(), 0
    for sql, expected in zip(PREDICATES, without, strict=True):
        found = pruner.prune(table, PruneRequest(parse_predicate(sql)))
        assert found.keep.tolist() == expected.keep.tolist()
        assert found.kept_paths() == expected.kept_paths()
        assert found.dropped_by == expected.dropped_by
        assert (found.files_kept, found.bytes_kept) == (expected.files_kept, expected.bytes_kept)
        evaluated_apart += found.kept.among is not None
    assert evaluated_apart >= len(PREDICATES) // 2
