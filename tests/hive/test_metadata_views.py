"""Tables that describe Hudi tables: the rows of the Python API, filtered by the service.

The tables are Hudi's, of tests/data/golden: partitioned and not, copy on write and merge on read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.compute as pc
import pytest

import pyhudi_expr as ph
from devtools.runtime import free_port
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.described_tables import VIEWS, Described, described_tables
from tests.hive.query_results import FETCH, MR, TEZ, Hive
from tests.marks import long

pytestmark = pytest.mark.hive

PARTITIONED, PLAIN, MERGED = (
    "cow_v9_txns_simple_meta",
    "cow_v9_txns_nonpart_nometa",
    "mor_v6_metadata_pending_compaction",
)
SHUFFLE = {"hive.auto.convert.join": "false"}


@pytest.fixture(scope="module")
def described(hive: Hive, golden: Mapping[str, Path]) -> Iterator[Mapping[str, Described]]:
    with described_tables(hive, golden, (PARTITIONED, PLAIN, MERGED)) as tables:
        yield tables


@pytest.mark.smoke("cow_v9_txns_simple_meta-mr")
@pytest.mark.parametrize(
    ("archive", "engine"),
    [
        *((PARTITIONED, engine) for engine in (FETCH, MR, TEZ)),
        *((archive, FETCH) for archive in (PLAIN, MERGED)),
        *(long(archive, engine) for archive in (PLAIN, MERGED) for engine in (MR, TEZ)),
    ],
)
def test_rows_are_those_of_the_python_api(
    hive: Hive, described: Mapping[str, Described], archive: str, engine: str
) -> None:
    table = described[archive]
    for view in VIEWS:
        columns, rows = table.rows(view)
        answer = hive.query(f"SELECT {', '.join(columns)} FROM {table.name}__{view}", engine)
        assert answer.rows == rows, view
        assert answer.scan.outcomes == ("NO_FILTER",)


@pytest.mark.parametrize("engine", [FETCH, MR, TEZ])
def test_a_view_is_behind_its_tables_name_without_registration(
    hive: Hive, described: Mapping[str, Described], engine: str
) -> None:
    table = described[PARTITIONED]
    for view in VIEWS:
        columns, rows = table.rows(view)
        read = f"SELECT {', '.join(columns)} FROM default.{table.name}.{view}"
        assert hive.query(read, engine).rows == rows, view
    filtered = hive.query(f"SELECT path FROM default.{table.name}.files WHERE bytes < 0", engine)
    assert filtered.scan.outcomes == ("PRUNED",)
    assert filtered.scan.rows_sent == 0


@pytest.mark.parametrize(("engine", "settings"), [(TEZ, {}), (MR, SHUFFLE), (MR, {})])
def test_a_table_is_joined_with_the_views_behind_its_name(
    hive: Hive, described: Mapping[str, Described], engine: str, settings: Mapping[str, str]
) -> None:
    table = described[PARTITIONED]
    name = f"default.{table.name}"
    registered, behind = (
        hive.query(
            "SELECT f.file_name, max(f.row_count), count(*), min(t.region), max(r.max_value)"
            f" FROM {name} t JOIN {name}{mark}files f ON t.`_hoodie_file_name` = f.file_name"
            f" JOIN {name}{mark}column_ranges r ON f.path = r.path AND r.column_name = 'amount'"
            f" WHERE f.partition_path <> 'region=eu' GROUP BY f.file_name",
            engine,
            settings=settings,
        )
        for mark in ("__", ".")
    )
    assert behind.rows == registered.rows
    assert behind.rows


def test_what_is_no_view_behind_a_name_is_refused(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    name = f"default.{described[PARTITIONED].name}"
    for reference in (f"{name}.snapshots", f"{name}__files.files"):
        with pytest.raises(QueryError, match="view"):
            hive.query(f"SELECT * FROM {reference}")
    with pytest.raises(QueryError):
        hive.query(f"INSERT INTO {name}.files SELECT * FROM {name}.files")


FILTERS = (
    ("files", "partition_path = 'region=us' AND bytes > 1000"),
    ("history", "action = 'clean' OR requested_at < '2026-03-07 16:24:40'"),
    ("indexes", "kind LIKE 'column%'"),
    ("column_ranges", "column_name IN ('amount', 'region') AND min_value IS NOT NULL"),
)


@pytest.mark.parametrize("engine", [FETCH, MR, TEZ])
def test_filters_are_applied_by_the_service(
    hive: Hive, described: Mapping[str, Described], engine: str
) -> None:
    table = described[PARTITIONED]
    for view, where in FILTERS if engine == FETCH else FILTERS[:1]:
        columns, everything = table.rows(view)
        query = f"SELECT {', '.join(columns)} FROM {table.name}__{view} WHERE {where}"
        unpruned = hive.query(query, engine, pruning=False)
        pruned = hive.query(query, engine)
        assert pruned.rows == unpruned.rows
        assert unpruned.scan.outcomes == ("DISABLED",)
        assert unpruned.scan.rows_sent == len(everything)
        assert pruned.scan.outcomes == ("PRUNED",)
        assert pruned.scan.rows_sent == len(pruned.rows) < len(everything)
        assert pruned.rows


@pytest.mark.smoke
def test_a_filter_that_the_service_cannot_evaluate_is_applied_by_hive(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    table = described[PARTITIONED]
    answer = hive.query(f"SELECT path FROM {table.name}__files WHERE md5(kind) < 'z'")
    assert len(answer.rows) == answer.scan.rows_sent == len(ph.table(table.path).files())


@pytest.mark.parametrize(
    ("engine", "settings"), [(TEZ, {}), (MR, SHUFFLE), long(MR, {}), long(TEZ, SHUFFLE)]
)
def test_a_view_is_joined_with_its_table(
    hive: Hive, described: Mapping[str, Described], engine: str, settings: Mapping[str, str]
) -> None:
    """In MapReduce one job reads both."""
    table = described[PARTITIONED]
    query = (
        "SELECT f.file_name, max(f.row_count), count(*), min(t.region)"
        f" FROM {table.name} t JOIN {table.name}__files f ON t.`_hoodie_file_name` = f.file_name"
        " WHERE f.partition_path <> 'region=eu' GROUP BY f.file_name"
    )
    answer = hive.query(query, engine, settings=settings)
    files = ph.table(table.path).files().filter(pc.field("partition") != "region=eu")
    assert [row[0] for row in answer.rows] == sorted(Path(p.as_py()).name for p in files["path"])
    assert all(counted == stored for _, stored, counted, _ in answer.rows)
    # The same without the service's part in it.
    assert hive.query(query, engine, pruning=False, settings=settings).rows == answer.rows


@pytest.mark.parametrize("engine", [MR, long(TEZ)])
def test_two_views_of_one_table_are_kept_apart(
    hive: Hive, described: Mapping[str, Described], engine: str
) -> None:
    table = described[MERGED]
    answer = hive.query(
        f"SELECT 'files', count(*) FROM {table.name}__files WHERE kind = 'log'"
        f" UNION ALL SELECT 'history', count(*) FROM {table.name}__history"
        f" UNION ALL SELECT 'rows', count(*) FROM {table.name}",
        engine,
        settings=SHUFFLE,
    )
    files, history = ph.table(table.path).files(), ph.table(table.path).history()
    logs = files.filter(pc.field("kind") == "log")
    rows = hive.query(f"SELECT count(*) FROM {table.name}", pruning=False).rows[0][0]
    assert dict(answer.rows) == {"files": len(logs), "history": len(history), "rows": rows}


def test_describe_shows_what_the_columns_are(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    shown = hive.query(f"DESCRIBE {described[PLAIN].name}__indexes").rows
    assert ("column_names", "array<string>", "The columns that it is of") in shown
    assert not [row for row in shown if not row[2] or row[2] == "from deserializer"]


def test_explain_shows_how_many_rows_are_sent(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    table = described[PARTITIONED]
    plan = hive.query(
        f"EXPLAIN SELECT path FROM {table.name}__files WHERE partition_path = 'region=us'",
        settings={"hive.explain.user": "false"},
    )
    assert "the service sends 2 of 5 rows" in str(plan.rows)


def test_a_view_is_created_by_a_property_of_its_table(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    table = described[PLAIN]
    create = (
        "CREATE EXTERNAL TABLE by_property STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
        f" LOCATION '{table.path}' TBLPROPERTIES ('hudi.metadata.view'='{{}}')"
    )
    with pytest.raises(QueryError, match="no metadata view 'filez'"):
        hive.run(create.format("filez"))
    hive.run(create.format("files"))
    shown = hive.query("DESCRIBE by_property").rows
    assert shown == hive.query(f"DESCRIBE {table.name}__files").rows
    assert len(hive.query("SELECT * FROM by_property").rows) == len(ph.table(table.path).files())
    with pytest.raises(QueryError, match="is the location of files"):
        hive.run("ALTER TABLE by_property SET TBLPROPERTIES ('hudi.metadata.view'='history')")
    with pytest.raises(QueryError, match="cannot become"):
        hive.run(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('hudi.metadata.view'='files')")
    hive.run("DROP TABLE by_property")
    assert hive.query(f"SELECT count(*) FROM {table.name}__files").rows != [(0,)]


@pytest.mark.parametrize("pruning", [True, False])
def test_without_a_service_there_is_an_error_and_not_fewer_rows(
    hive: Hive, described: Mapping[str, Described], pruning: bool
) -> None:
    nowhere = {"hudi.pruning.service.addresses": f"127.0.0.1:{free_port()}"}
    query = f"SELECT * FROM {described[PLAIN].name}__files"
    with pytest.raises(QueryError, match=r"gives no rows.*pyhudi serve") as refused:
        hive.query(query, pruning=pruning, settings=nowhere)
    assert "PruningException" not in str(refused.value)
    assert hive.query(query, pruning=pruning).rows


def test_without_a_service_an_engine_shows_no_trace_of_the_handler(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    nowhere = {"hudi.pruning.service.addresses": f"127.0.0.1:{free_port()}"}
    query = f"SELECT count(*) FROM {described[PLAIN].name}__files"
    with pytest.raises(QueryError, match=r"gives no rows.*pyhudi serve") as refused:
        hive.query(query, TEZ, settings=nowhere)
    assert "at io.pyhudi" not in str(refused.value)


def test_views_are_of_the_newest_state(hive: Hive, described: Mapping[str, Described]) -> None:
    table = described[PARTITIONED]
    instant = ph.table(table.path).history()["instant"][0].as_py()
    query = f"SELECT * FROM {table.name}__files"
    with pytest.raises(QueryError, match="describes the newest state only"):
        hive.query(query, settings={"hudi.as.of": instant})
    with pytest.raises(QueryError, match="describes the newest state only"):
        hive.query(f"{query} FOR SYSTEM_VERSION AS OF {instant}")


@pytest.mark.parametrize("engine", [FETCH, MR])
def test_views_are_read_only(hive: Hive, described: Mapping[str, Described], engine: str) -> None:
    name = f"{described[PLAIN].name}__history"
    with pytest.raises(QueryError, match="read-only in Hive"):
        hive.query(f"INSERT INTO {name} SELECT * FROM {name}", engine)
