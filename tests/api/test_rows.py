"""Rows: those of DuckDB over the table's files and of hudi-rs, in every form, with and without
pruning.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

import pyhudi_expr as ph
from pyhudi_expr.index.prune import PruneOptions, Pruner
from tests.example_counts import examples
from tests.rows.nasty_tables import arrow_filters, filter_lists, sql_texts, write_nasty_table

SEED = 11 if settings().derandomize else None
CASES = max(40, examples(60))  # of fewer, none may prune a small table
COW, MOR = "cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"
UNPARTITIONED = "cow_v9_txns_nonpart_nometa"
#: Tables whose snapshots hudi-rs reads completely.
READABLE = [COW, MOR, UNPARTITIONED, "cow_v8_complexkeygen_hivestyle"]
WITH_LOGS = "mor_v6_simplekeygen_nonhivestyle"


def sorted_rows(rows: pa.Table) -> list[str]:
    """As sorted texts, which are ordered for all values."""
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows.to_pylist())


class RandomConditions:
    """SQL that DuckDB and Hive's dialect understand alike, over the golden tables' columns."""

    def __init__(self, rows: pa.Table, seed: int) -> None:
        self.random = Random(seed)
        self.values = {
            field.name: [value for value in rows[field.name].to_pylist() if value is not None]
            for field in rows.schema
            if not pa.types.is_nested(field.type)
            and not pa.types.is_timestamp(field.type)
            and not pa.types.is_binary(field.type)
        }
        self.values = {name: values for name, values in self.values.items() if values}

    def condition(self, depth: int = 2) -> str:
        if depth and self.random.random() < 0.5:
            both = [self.condition(depth - 1) for _ in range(2)]
            return f"({self.random.choice((' AND ', ' OR ')).join(both)})"
        name = self.random.choice(list(self.values))
        chosen = [self.literal(self.random.choice(self.values[name])) for _ in range(3)]
        return self.random.choice(
            (
                *self.functions(name),
                f"{name} {self.random.choice(('=', '<>', '<', '<=', '>', '>='))} {chosen[0]}",
                f"{name} IN ({', '.join(chosen)})",
                f"{name} BETWEEN {chosen[0]} AND {chosen[1]}",
                f"NOT ({name} > {chosen[0]})",
                f"{name} IS NULL",
            )
        )

    def functions(self, name: str) -> list[str]:
        value = self.random.choice(self.values[name])
        if isinstance(value, str):
            begin, length = self.random.randrange(1, 5), self.random.randrange(4)
            part = value[begin : begin + length]
            return [
                f"{name} LIKE '%{part}%'",
                f"{name} NOT LIKE '_{part}%'",
                f"lower({name}) >= '{value.lower()}'",
                f"length(trim({name})) = {len(value)}",
                f"substr({name}, {begin + 1}, {length}) = '{part}'",
                f"upper({name}) || '-' <= '{value.upper()}-'",
            ]
        if isinstance(value, int) and not isinstance(value, bool):
            return [f"{name} % 7 = {value % 7}", f"abs({name}) > {abs(value)}"]
        if isinstance(value, date):
            return [f"year({name}) = {value.year}", f"day({name}) > {value.day}"]
        return []

    @staticmethod
    def literal(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float) or type(value).__name__ == "Decimal":
            return str(value)
        return f"'{value}'" if isinstance(value, str) else f"date '{value}'"


@pytest.mark.parametrize("name", [COW, UNPARTITIONED, "cow_v8_complexkeygen_hivestyle"])
def test_rows_are_those_of_duckdb_over_the_files(golden: Mapping[str, Path], name: str) -> None:
    """Over all files of the newest snapshot, of which pruning leaves some out."""
    table = ph.table(golden[name])
    files = [str(golden[name] / path) for path in table.files()["path"].to_pylist()]
    names = [name for name in table.schema.names if not name.startswith("_hoodie_")]
    connection = duckdb.connect()
    everything = connection.read_parquet(files, hive_partitioning=False)
    made = RandomConditions(table.scan(columns=names).to_arrow(), seed=27)
    skipped = 0
    for condition in (made.condition() for _ in range(CASES)):
        expected = everything.filter(condition).select("_hoodie_record_key").fetchall()
        scan = table.scan(condition, ["_hoodie_record_key"])
        found = scan.to_arrow()["_hoodie_record_key"].to_pylist()
        assert sorted(found) == sorted(key for (key,) in expected), condition
        assert scan.count() == len(expected), condition
        skipped += scan.plan.files_skipped
    assert skipped > 0


def test_who_reads_the_files_is_named_where_paths_are_formatted(golden: Mapping[str, Path]) -> None:
    path = golden["cow_v9_timebasedkeygen_nonhivestyle"]
    table = ph.table(path)
    files = [str(path / name) for name in table.files()["path"].to_pylist()]
    everything = duckdb.read_parquet(files, hive_partitioning=False)
    texts = sorted(value for (value,) in everything.select("ts_str").distinct().fetchall())
    for condition in (f"ts_str = '{texts[0]}'", f"ts_str > '{texts[1]}'", "ts_str IS NULL"):
        kept = table.prune(condition, reader="files").kept_uris()
        assert len(kept) < len(files)
        assert table.prune(condition, dialect="trino").files_kept == len(files)
        expected = everything.filter(condition).select("txn_id").fetchall()
        read = duckdb.read_parquet(kept, hive_partitioning=False) if kept else everything.limit(0)
        assert sorted(read.filter(condition).select("txn_id").fetchall()) == sorted(expected)


@pytest.mark.parametrize("name", READABLE)
def test_rows_are_those_of_hudi_rs(golden: Mapping[str, Path], name: str) -> None:
    from hudi import HudiTable

    expected = pa.Table.from_batches(HudiTable(str(golden[name])).read())
    table = ph.table(golden[name])
    names = [one for one in table.schema.names if one in expected.schema.names]
    found = table.scan(columns=names).to_arrow()
    assert sorted_rows(found) == sorted_rows(expected.select(names))
    assert table.scan().count() == expected.num_rows > 0
    plain = RandomConditions(found.drop_columns([n for n in names if n.startswith("_")]), seed=3)
    connection = duckdb.connect()
    connection.register("expected", expected)
    for condition in (plain.condition() for _ in range(CASES // 2)):
        rows = connection.sql(f"SELECT * FROM expected WHERE {condition}").to_arrow_table()
        scan = table.scan(condition, ["_hoodie_record_key"])
        keys = scan.to_arrow()["_hoodie_record_key"].to_pylist()
        assert sorted(keys) == sorted(rows["_hoodie_record_key"].to_pylist()), condition


@pytest.mark.parametrize("name", [COW, MOR, WITH_LOGS])
@pytest.mark.parametrize("limit", [None, 2])
def test_every_form_has_the_same_rows(
    golden: Mapping[str, Path], name: str, limit: int | None
) -> None:
    table = ph.table(golden[name])
    scan = table.scan(limit=limit, meta=True)
    expected = scan.to_arrow()
    assert expected.num_rows == (limit or scan.count()) > 0
    assert expected.schema == scan.schema
    rows = sorted_rows(expected)
    assert sorted_rows(pa.Table.from_batches(scan, scan.schema)) == rows
    assert sorted_rows(scan.to_reader().read_all()) == rows
    assert sorted_rows(pa.table(scan)) == rows
    assert sorted_rows(scan.to_table()) == rows
    assert scan.count() == len(rows)
    assert len(table.to_pandas()) == table.count()
    assert len(scan.to_pandas()) == scan.to_polars().height == len(rows)
    assert sorted(scan.to_polars()["_hoodie_record_key"]) == sorted(
        expected["_hoodie_record_key"].to_pylist()
    )
    assert pl.DataFrame(scan).height == len(rows)
    connection = duckdb.connect()
    view = scan.to_duckdb("trips", connection)
    assert view.count("*").fetchall() == [(len(rows),)]
    twice = "SELECT count(*) FROM trips UNION ALL SELECT count(*) FROM trips"
    assert connection.sql(twice).fetchall() == [(len(rows),)] * 2
    assert connection.sql("SELECT count(*) FROM scan").fetchall() == [(len(rows),)]


def test_a_view_of_duckdb_is_replaced_and_needs_a_connection(golden: Mapping[str, Path]) -> None:
    table, connection = ph.table(golden[COW]), duckdb.connect()
    table.scan(limit=3).to_duckdb("t", connection)
    table.scan(limit=1).to_duckdb("t", connection)
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(1,)]
    with pytest.raises(TypeError, match="expected a DuckDB connection, got str"):
        table.scan().to_duckdb("t", "trips")
    with pytest.raises(TypeError, match=r"name: expected a str, .*to_duckdb\(name, connection\)"):
        table.scan().to_duckdb(connection, "t")


@pytest.mark.parametrize(
    "condition", ["rider = 'R-27182'", "id IN (1, 70000)", "city LIKE 'Os%' AND day > '2024-01-08'"]
)
def test_a_query_of_a_view_reads_what_it_needs(indexed_trips: Path, condition: str) -> None:
    table, slices = ph.table(indexed_trips), list[int]()
    scan = table.scan("fare > 10", progress=lambda done: slices.append(done.slices_total))
    view = scan.to_duckdb("trips")
    assert view.columns == scan.schema.names
    expected = table.scan(f"fare > 10 AND {condition}", ["fare"])
    fares = expected.to_arrow()["fare"].to_pylist()
    sql = f"SELECT count(*), max(fare) FROM trips WHERE {condition}"
    of_variable = sql.replace("FROM trips", "FROM view")
    assert duckdb.sql(sql).fetchall() == [(len(fares), max(fares))]
    assert duckdb.sql(of_variable).fetchall() == [(len(fares), max(fares))]
    assert set(slices) == {expected.plan.files_kept}
    assert expected.plan.files_kept < 10


def test_nan_in_a_view_is_that_of_duckdb(tmp_path: Path) -> None:
    """Above all numbers, also in floats of 32 bits, for which DuckDB does not tell pyarrow so."""
    write_nasty_table(tmp_path, Random(64), files=8, groups=1)
    scan = ph.table(tmp_path).scan(columns=["id", "f", "d", "i", "m"])
    scan.to_duckdb("view", connection := duckdb.connect())
    rows = scan.to_arrow()
    connection.register("arrow", rows)
    connection.sql("CREATE TABLE own AS SELECT * FROM arrow")
    for name in ("f", "d", "i", "m"):
        for operator in ("=", "<>", "<", "<=", ">", ">="):
            for value in ("0", "-0.0", "1.0", "0.1", "-1.5"):
                for one in (f"{name} {operator} {value}", f"NOT {name} {operator} {value}"):
                    sql = f"SELECT id FROM {{}} WHERE {one} ORDER BY id"
                    expected = connection.sql(sql.format("own")).fetchall()
                    assert connection.sql(sql.format("view")).fetchall() == expected, one


def test_a_program_with_an_event_loop_awaits_rows(indexed_trips: Path) -> None:
    table = ph.table(indexed_trips)

    async def rows() -> list[int | None]:
        scan = await table.scan_async("fare > 165", ["id"])
        return [number async for batch in scan for number in batch["id"].to_pylist()]

    assert asyncio.run(rows()) == table.scan("fare > 165").to_arrow()["id"].to_pylist()
    assert inspect.signature(table.scan_async) == inspect.signature(table.scan)


@pytest.mark.parametrize(
    ("name", "text"), [(COW, "region = 'us'"), (UNPARTITIONED, "txn_type = 'debit'")]
)
def test_a_dataset_of_a_copy_on_write_table_has_its_files(
    golden: Mapping[str, Path], name: str, text: str
) -> None:
    table = ph.table(golden[name])
    dataset = table.to_pyarrow_dataset()
    assert isinstance(dataset, ds.FileSystemDataset)
    paths = [str(golden[name] / path) for path in table.files()["path"].to_pylist()]
    assert sorted(dataset.files) == sorted(paths)
    filtered = table.to_pyarrow_dataset(text)
    assert isinstance(filtered, ds.FileSystemDataset)
    assert (set(filtered.files) < set(paths)) == (name == COW)
    expected = table.scan(text).count()
    assert (
        0 < expected == filtered.count_rows() == filtered.to_table().num_rows < dataset.count_rows()
    )
    connection = duckdb.connect()
    assert connection.sql("SELECT count(*) FROM filtered").fetchall() == [(expected,)]
    lazy = pl.scan_pyarrow_dataset(filtered)
    assert lazy.select("txn_id").collect().height == expected
    less = table.scan(f"{text} AND txn_id < 'TXN-006'").count()
    counted = connection.sql("SELECT count(*) FROM filtered WHERE txn_id < 'TXN-006'")
    assert counted.fetchall() == [(less,)]
    assert lazy.filter(pl.col("txn_id") < "TXN-006").collect().height == less < expected


@pytest.mark.parametrize("name", [MOR, WITH_LOGS, "mor_v8_metadata_pending_compaction"])
@pytest.mark.parametrize("view", ["snapshot", "read_optimized"])
def test_a_dataset_of_a_merge_on_read_table_has_merged_rows(
    golden: Mapping[str, Path], name: str, view: str
) -> None:
    table = ph.table(golden[name])
    expected = table.scan(view=view, meta=True).to_arrow()
    dataset = table.to_pyarrow_dataset(view=view, meta=True)
    assert sorted_rows(dataset.to_table()) == sorted_rows(expected)
    key = expected["_hoodie_record_key"].to_pylist()[0]
    condition = f"_hoodie_record_key = '{key}'"
    one = table.to_pyarrow_dataset(condition, view=view)
    assert one.to_table().num_rows == table.scan(condition, view=view).count() == 1
    connection = duckdb.connect()
    assert connection.sql("SELECT count(*) FROM one").fetchall() == [(1,)]
    assert pl.scan_pyarrow_dataset(one).collect().height == 1


class Nasty:
    """A table with values for which Parquet's statistics are often wrong, and its rows."""

    def __init__(self, path: Path) -> None:
        self.rows = write_nasty_table(path, Random(SEED))
        self.table = ph.table(path, footers=True)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Nasty:
    return Nasty(tmp_path_factory.mktemp("nasty") / "table")


@pytest.mark.filterwarnings("ignore::pyhudi_expr.PyHudiWarning")
def test_a_dataset_loses_no_row_to_the_statistics_of_floats(nasty: Nasty) -> None:
    chance, in_files = Random(SEED), 0
    filters: list[Any] = [
        *(one for one in islice(arrow_filters(chance), CASES)),
        *(islice(filter_lists(chance), CASES)),
        *(islice(sql_texts(chance, "<=>"), CASES)),
        *("d <> 5", "NOT (d < 1)", "d = 0", "d > 1", "d BETWEEN 0 AND 2", "d <= 0 AND id > 3"),
    ]
    for one in filters:
        try:
            scan = nasty.table.scan(one, ["id"])
            expected = sorted(scan.to_arrow()["id"].to_pylist())
        except ph.HudiError:
            continue
        dataset = nasty.table.to_pyarrow_dataset(one)
        assert sorted(dataset.to_table(columns=["id"])["id"].to_pylist()) == expected, one
        assert dataset.count_rows() == scan.count() == len(expected), one
        in_files += isinstance(dataset, ds.FileSystemDataset)
    assert in_files > len(filters) / 20


def test_floats_that_are_compared_stay_in_files(nasty: Nasty) -> None:
    for text, is_of_files in (
        *(("d > 1", True), ("d = 0", True), ("d BETWEEN 0 AND 2 OR d < -5", True)),
        *(("d <> 5", False), ("NOT (d > 5)", False), ("d IN (0.0, 1.0)", False), ("id <> 5", True)),
    ):
        dataset = nasty.table.to_pyarrow_dataset(text)
        assert isinstance(dataset, ds.FileSystemDataset) == is_of_files, text


@pytest.mark.filterwarnings("ignore::pyhudi_expr.PyHudiWarning")
def test_a_filter_of_a_scan_leaves_the_rows_that_both_find(nasty: Nasty) -> None:
    """Of each kind, those that pyarrow evaluates and those of the rules of pruning."""
    random = Random(SEED)
    kinds = zip(filter_lists(random), sql_texts(random, "<=>"), arrow_filters(random), strict=False)
    filters = [
        "i % 3 = 1",
        "CAST(id AS string) LIKE '1%'",
        *(one for _ in range(12) for one in next(kinds)),
    ]
    found = {}
    for number, one in enumerate(filters):
        with suppress(ph.FilterNotApplicable):
            found[number] = set(nasty.table.scan(one, ["id"]).to_arrow()["id"].to_pylist())
    assert len(found) > len(filters) // 2
    for _ in range(CASES):
        first, second = random.choices([*found], k=2)
        scan = nasty.table.scan(filters[first], ["d"]).filter(filters[second]).select(["ID"])
        assert scan.schema.names == ["id"]
        ids = scan.to_arrow()["id"].to_pylist()
        assert sorted(ids) == sorted(found[first] & found[second]), (
            filters[first],
            filters[second],
        )
        assert scan.count() == len(ids)


@pytest.mark.filterwarnings("ignore::pyhudi_expr.PyHudiWarning")
def test_a_scan_chains(trips: Path) -> None:
    table = ph.table(trips)
    whole = table.scan(order_by="fare DESC, id")
    chained = (
        whole.filter("city = 'Oslo'").filter([("id", "<", 500)]).select(["id"]).limit(9).limit(4)
    )
    assert chained.plan.predicate == "(city = 'Oslo') AND ([('id', '<', 500)])"
    expected = table.scan("city = 'Oslo' AND id < 500", ["id"], limit=4, order_by="fare DESC, id")
    assert chained.to_arrow() == expected.to_arrow()
    assert chained.plan.kept_paths() == expected.plan.kept_paths()
    assert whole.limit(2).select(["fare"]).to_arrow() == whole.limit(2).to_arrow().select(["fare"])
    with pytest.raises(ph.InvalidValue, match="filter first"):
        whole.limit(2).filter("id > 5")
    with pytest.raises(ph.UnknownColumn, match="is it fare"):
        whole.select(["fair"])


#: The keys of the last one are virtual: its rows have no key, whatever its files hold.
@pytest.mark.parametrize("name", [COW, MOR, "cow_v8_simplekeygen_hivestyle_no_metafields"])
def test_columns_of_hudi_are_shown_if_they_are_asked_for(
    golden: Mapping[str, Path], name: str
) -> None:
    table, key = ph.table(golden[name]), "_hoodie_record_key"
    hudis = table.schema.names[: -len(table.columns)]
    assert (len(hudis), table.scan().schema.names) == (5, table.columns)
    assert table.scan(meta=True).schema.names == table.schema.names
    own = table.columns[0]
    assert table.scan(columns=[own], meta=True).schema.names == [*hudis, own]
    for scan in (table.scan(columns=[key.upper(), own]), table.scan().select([key, own])):
        assert scan.schema.names == [key, own]
    whole = table.scan(meta=True).to_arrow()
    assert sorted_rows(table.scan().to_arrow()) == sorted_rows(whole.select(table.columns))
    one = whole[key][0].as_py()
    by_key = f"{key} IS NULL" if one is None else f"{key} = '{one}'"
    found = table.scan(by_key)
    assert found.schema.names == table.columns
    assert found.count() == found.to_arrow().num_rows == (whole.num_rows if one is None else 1)
    for text, names in ((None, table.columns), (by_key, [*table.columns, key])):
        dataset = table.to_pyarrow_dataset(text)
        assert dataset.schema.names == names
        expected = table.scan(text, names)
        assert dataset.count_rows() == expected.count()
        assert sorted_rows(dataset.to_table()) == sorted_rows(expected.to_arrow())
    dataset = table.to_pyarrow_dataset(by_key, meta=True)
    assert sorted_rows(dataset.to_table()) == sorted_rows(table.scan(by_key, meta=True).to_arrow())


def test_a_table_shows_its_first_rows_and_counts_all(trips: Path) -> None:
    table = ph.table(trips)
    assert table.columns == ["id", "ts", "city", "rider", "fare", "day"]
    assert table.head().num_rows == 10
    assert table.head(3) == table.scan(limit=3).to_arrow()
    assert table.count() == 160_000


def test_a_scan_with_a_limit_reads_only_the_first_files(trips: Path, tmp_path: Path) -> None:
    path = tmp_path / "trips"
    shutil.copytree(trips, path)
    table = ph.table(path)
    every = table.files()["path"].to_pylist()
    for name in every[8:]:
        (path / name).write_bytes(b"damaged")
    assert table.scan(limit=5).to_arrow().num_rows == 5
    assert table.scan(limit=5).count() == 5
    assert next(iter(table.scan(limit=1))).num_rows == 1
    assert table.scan("id >= 100", limit=5).to_polars().height == 5
    with pytest.raises(ph.CorruptFile, match="footer"):
        table.scan().to_arrow()
    with pytest.raises(ph.HudiError, match=r"\.parquet"):
        table.scan().count()


def test_batches_come_file_by_file(trips: Path) -> None:
    seen: list[int] = []
    scan = ph.table(trips).scan(columns=["id"], progress=lambda done: seen.append(done.slices))
    batches = iter(scan)
    first = next(batches)
    assert first.num_rows <= 2_000
    assert seen == [1]
    assert 2_000 + sum(batch.num_rows for batch in batches) - (2_000 - first.num_rows) == 160_000
    assert seen[-1] == 80


def test_counting_reads_no_rows(trips: Path, tmp_path: Path) -> None:
    """The pages of the files are overwritten, their footers are not."""
    path = tmp_path / "trips"
    shutil.copytree(trips, path)
    table = ph.table(path)
    for name in table.files()["path"].to_pylist():
        file = path / name
        content, footer = file.read_bytes(), pq.ParquetFile(file).metadata.serialized_size + 8
        file.write_bytes(b"PAR1" + b"\0" * (len(content) - footer - 4) + content[-footer:])
    assert table.scan().count() == 160_000
    with pytest.raises(ph.HudiError):
        table.scan().to_arrow()


def test_scan_of_the_package_is_that_of_a_table(golden: Mapping[str, Path]) -> None:
    path = golden[COW]
    pruner = Pruner(PruneOptions())
    found = ph.scan(path, "region = 'us'", ["txn_id"], limit=3, pruner=pruner)
    assert pruner.held()[0] == 1
    assert sorted_rows(found.to_table()) == sorted_rows(
        ph.table(path).scan("region = 'us'", ["txn_id"], limit=3).to_arrow()
    )
    assert (found.result.files_kept, found.schema.names) == (1, ["txn_id"])
    expected = pc.field("region") == "us"
    whole = ph.scan(path, "region = 'us'").to_dataset()
    assert whole.to_table(filter=expected).num_rows == ph.scan(path, "region = 'us'").count()


def test_rows_of_slices_with_log_files_are_not_judged(golden: Mapping[str, Path]) -> None:
    """The log file of a base file without a matching row has one."""
    table = ph.table(golden[WITH_LOGS])
    matching = table.scan("isActive = false").count()
    plan = table.prune("isActive = false")
    evaluated = plan.kept_rows()
    merged = table.files()["kind"].to_pylist().count("log")
    assert merged > 0
    bases = [path for path in plan.kept_paths() if path.endswith(".parquet")]
    assert len(evaluated.files) == len(bases) - merged
    assert evaluated.num_rows_kept <= matching
    assert "evaluated files" in repr(evaluated)
    assert len(repr(evaluated)) < 200
