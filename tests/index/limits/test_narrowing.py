"""The slices that suffice for a LIMIT have its rows: random filters and orders, by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from pyhudi_expr.expr.frontend.sql.dialects import HIVE
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import ALWAYS, Column, HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.limits.narrowing import LIMIT, TOP_K, OrderColumn, WantedRows, narrowed
from pyhudi_expr.index.limits.sure_rows import sure_rows
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.request_checks import parse_filter
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.rows.scan import scan_snapshot
from pyhudi_expr.rows.sorting import SortKey, sorted_rows
from pyhudi_expr.tables.listing import TableView
from tests.example_counts import examples
from tests.rows.nasty_tables import COLUMNS, GROUP_ROWS, arrow_filters, write_nasty_table

SEED = 29 if settings().derandomize else None
CASES = examples(400)
FILES = 40


def wanted(rows: int, keys: Sequence[SortKey]) -> WantedRows:
    if not keys:
        return WantedRows(rows)
    key, is_only = keys[0], len(keys) == 1
    return WantedRows(
        rows, OrderColumn(Column((key.column,)), key.descending, key.nulls_first, is_only)
    )


def assert_suffices(
    matching: pa.Table, left: pa.Table, rows: int, keys: Sequence[SortKey], hint: object
) -> None:
    """Check that the first rows are among those that are left, as far as an order tells."""
    assert left.num_rows >= min(rows, matching.num_rows), hint
    for key in keys:
        expected, found = (sorted_rows(each, keys, rows)[key.column] for each in (matching, left))
        assert repr(found.to_pylist()) == repr(expected.to_pylist()), hint


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pruner, TableSnapshot, pa.Table]:
    """Files of few distinct values, with the row counts that their metadata would have."""
    path = tmp_path_factory.mktemp("nasty") / "table"
    rows = write_nasty_table(path, Random(SEED), files=FILES, groups=1)
    pruner = Pruner(PruneOptions(footers=True, footer_wait=20))
    snapshot = pruner.open(str(path))
    snapshot.__dict__["_row_counts"] = np.full(FILES, GROUP_ROWS)
    return pruner, snapshot, rows


def filters(rows: pa.Table, random: Random) -> Iterator[Any]:
    for filter_ in arrow_filters(random):
        try:
            rows.filter(filter_)
        except (pa.ArrowException, ValueError):
            continue
        yield filter_


def of_kept_files(rows: pa.Table, result: PruneResult) -> pa.Table:
    names = result.listing.file_name.filter(pa.array(result.file_keep)).to_pylist()
    numbers = {int(name.partition("-")[0]) for name in names}
    files = np.array(rows["id"]) // GROUP_ROWS
    return rows.filter(pa.array(np.isin(files, list(numbers))))


def test_random_limits_and_orders_of_nasty_values(
    nasty: tuple[Pruner, TableSnapshot, pa.Table],
) -> None:
    pruner, snapshot, rows = nasty
    random, narrower = Random(SEED), {LIMIT: 0, TOP_K: 0}
    given = filters(rows, random)
    for _ in range(CASES):
        names = random.sample(sorted(COLUMNS), random.choice([0, 1, 1, 1, 2]))
        keys = [SortKey(n, random.random() < 0.5, random.random() < 0.5) for n in names]
        filter_ = next(given) if random.random() < 0.6 else None
        limit = random.choice([1, 1, 2, 3, 5, 20, 1000])
        predicate: HudiExpression = ALWAYS
        if filter_ is not None:
            predicate = parse_filter(filter_, snapshot.schema, HIVE, "rows")
        request = PruneRequest(
            predicate, semantics=here(random.choice(["UTC", "America/New_York", None]))
        )
        result = pruner.prune_snapshot(snapshot, request)
        found = narrowed(pruner, snapshot, request, result, [wanted(limit, keys)])
        matching = rows if filter_ is None else rows.filter(filter_)
        left = of_kept_files(matching, found)
        hint = (limit, keys, filter_, found)
        assert_suffices(matching, left, limit, keys, hint)
        for name in narrower:
            narrower[name] += found.dropped_by.get(name, 0) > result.dropped_by.get(name, 0)
    assert min(narrower.values()) > CASES / 20, narrower


def rows_of_slices(
    pruner: Pruner, snapshot: TableSnapshot, text: str, result: PruneResult
) -> pa.Table:
    """The matching rows of the kept slices, merged with their log files."""
    whole = scan_snapshot(pruner, snapshot, [text], zone="UTC")
    return pa.Table.from_batches(
        [batch for _, batch in whole._rows.of_slices(result.keep & whole.result.keep).batches()],
        whole.schema,
    )


@pytest.mark.parametrize("view", TableView, ids=lambda view: view.name.lower())
@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_limits_and_orders_of_tables_of_hudi(
    golden: Mapping[str, Path], name: str, view: TableView
) -> None:
    pruner = Pruner()
    random, dropped = Random(SEED), 0
    for text in ("true", "region = 'us'", "amount > 500", "region <> 'eu' OR amount < 300"):
        request = PruneRequest(parse_predicate(text), view, semantics=here("UTC"))
        snapshot = pruner.open(str(golden[name]), request.view, request.as_of)
        result = pruner.prune_snapshot(snapshot, request)
        matching = rows_of_slices(pruner, snapshot, text, result)
        columns = [
            n for n in ("txn_id", "amount", "txn_date", "region") if n in matching.column_names
        ]
        for first in [None, *columns]:
            for rows in (1, 2, 7, 1000):
                keys = [
                    SortKey(n, random.random() < 0.5, random.random() < 0.5)
                    for n in ([first, random.choice(columns)] if first else [])[
                        : random.choice([1, 2])
                    ]
                ]
                found = narrowed(pruner, snapshot, request, result, [wanted(rows, keys)])
                left = rows_of_slices(pruner, snapshot, text, found)
                assert_suffices(matching, left, rows, keys, (text, rows, keys))
                dropped += found.files_kept < result.files_kept
    assert dropped or snapshot.listing.has_logs


def test_the_ends_of_several_columns_are_in_few_slices(golden: Mapping[str, Path]) -> None:
    """What min and max of some columns need: of each the first row, in either direction."""
    pruner = Pruner()
    random, text = Random(SEED), "amount > 100"
    request = PruneRequest(parse_predicate(text), semantics=here("UTC"))
    snapshot = pruner.open(str(golden["cow_v9_txns_simple_meta"]), request.view, request.as_of)
    result = pruner.prune_snapshot(snapshot, request)
    matching = rows_of_slices(pruner, snapshot, text, result)
    for _ in range(30):
        keys = [
            SortKey(
                random.choice(["txn_id", "amount", "txn_date", "region"]), random.random() < 0.5
            )
            for _ in range(random.randint(2, 4))
        ]
        parts = [wanted(1, [key]) for key in keys]
        found = narrowed(pruner, snapshot, request, result, parts)
        left = rows_of_slices(pruner, snapshot, text, found)
        for key in keys:
            assert_suffices(matching, left, 1, [key], keys)


def test_rows_of_slices_with_log_files_are_not_sure(golden: Mapping[str, Path]) -> None:
    """A log file deletes rows, and counts of its records say only how many there are at most."""
    counted = 0
    for name in sorted(name for name in golden if name.startswith("mor")):
        pruner, request = Pruner(PruneOptions(footers=True)), PruneRequest(ALWAYS)
        snapshot = pruner.open(str(golden[name]), request.view, request.as_of)
        result = pruner.prune_snapshot(snapshot, request)
        logged, counts = snapshot.listing.slice_has_logs, snapshot.row_counts()
        assert not sure_rows(pruner, snapshot, request, result)[logged].any(), name
        counted += 0 if counts is None else int((counts[logged] > 0).sum())
    assert counted
