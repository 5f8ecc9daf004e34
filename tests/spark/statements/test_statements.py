"""Our statements by `spark.sql` alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from devtools.service import ServiceProcess
from devtools.spark import session_settings
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, create, upsert
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.extension.conftest import pruned_by
from tests.spark.statements.conftest import OURS

pytestmark = pytest.mark.spark

_ROWS = """
SELECT id, 'c' || (id div 10) AS city, id * 7 % 400 AS a, id % 2 AS p FROM range(0, 400, 1, 4)
"""


def states(table: Written) -> dict[str, State]:
    return {one.name: one.state for one in index_statuses(HudiTable.open(table.uri))}


def written(session: SparkSession, root: Path, name: str, spec: TableSpec | None = None) -> Written:
    """A table with 400 rows in four files, registered in the session's database."""
    table = create(session.sql(_ROWS), spec or TableSpec(name, stats_columns=None), root)
    session.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.uri}'")
    return table


def test_an_index_is_created_shown_refreshed_and_dropped(
    session: SparkSession, tmp_path: Path
) -> None:
    table = written(session, tmp_path, "trips")
    built = session.sql("create index riders on trips using secondary_index(city)").collect()
    assert {row.partition: row.entries for row in built} == {
        "record_index": 400,
        "secondary_index_riders": 400,
    }
    assert len({row.instant for row in built}) == 1
    shown = session.sql("SHOW INDEXES FROM trips")
    assert shown.columns[:3] == ["index_name", "index_type", "col_name"]
    assert ("riders", "secondary_index", "city", "hudi", "active") in {
        tuple(row)[:5] for row in shown.collect()
    }
    kept = assert_no_row_lost(Pruner(), table.path, read(session, table.path), ["city = 'c3'"])
    assert kept["city = 'c3'"] < 4
    again = "CREATE INDEX IF NOT EXISTS riders ON stated.trips USING secondary_index(city)"
    assert session.sql(again).collect() == []
    assert session.sql("REFRESH INDEX riders ON trips").collect() == []
    assert session.sql("DROP INDEX riders").collect() == []
    assert "riders" not in states(table)
    assert session.sql("DROP INDEX IF EXISTS riders ON trips").collect() == []


@pytest.mark.smoke
def test_indexes_of_the_extension_are_refreshed_at_once(
    session: SparkSession, tmp_path: Path
) -> None:
    table = written(session, tmp_path, "lagging")
    for column in ("city", "a"):
        session.sql(
            f"CREATE INDEX of_{column} ON '{table.uri}' USING bloom_filters({column})"
            " OPTIONS (store = 'extension')"
        )
    upsert(table, session.sql(_ROWS).where("id < 9"))
    assert set(states(table).values()) == {State.LAGGING}
    assert session.sql("REFRESH INDEXES ON lagging").count()
    assert set(states(table).values()) == {State.ACTIVE}


def test_without_a_kind_the_columns_of_the_key_get_the_index_that_hudi_makes(
    session: SparkSession, tmp_path: Path
) -> None:
    table = written(session, tmp_path, "keyed")
    session.sql("CREATE INDEX record_index ON keyed (id)")
    assert states(table) == {"record_index": State.ACTIVE}


def test_optimize_lays_out_the_partitions_that_it_names(
    session: SparkSession, tmp_path: Path
) -> None:
    spec = TableSpec("ordered", partitions=("p",), stats_columns=None)
    table = written(session, tmp_path, "ordered", spec)
    before = read(session, table.path).drop("_hoodie_file_name").collect()
    (done,) = session.sql(
        "OPTIMIZE ordered WHERE p = 1 ZORDER BY (a, id) OPTIONS (files = 4)"
    ).collect()
    assert (done.partitions, done.files_after) == ("p=1", 4)
    assert "built column_stats of a, id" in done.notes
    rows = read(session, table.path)
    assert sorted(map(str, rows.drop("_hoodie_file_name").collect())) == sorted(map(str, before))
    kept = assert_no_row_lost(Pruner(), table.path, rows, ["a < 50 AND p = 1"])
    assert kept["a < 50 AND p = 1"] < 4
    (again,) = session.sql("OPTIMIZE ordered HILBERT BY (a) WHERE p > 1").collect()
    assert again.instant is None
    with pytest.raises(PySparkException, match="WHERE chooses partitions, by p alone"):
        session.sql("OPTIMIZE ordered WHERE a = 1 ZORDER BY (a)")


def test_the_advisor_recommends_statements(session: SparkSession, tmp_path: Path) -> None:
    written(session, tmp_path, "advised")
    rows = session.sql("ANALYZE INDEXES ON advised FOR \"city = 'c3'\", 'id = 7'").collect()
    recommended = [row.statement for row in rows if row.recommended]
    assert recommended
    assert rows[0].files_saved > 0
    assert session.sql(recommended[0]).count()


def test_without_queries_the_advisor_takes_those_that_were_asked(
    session: SparkSession, pruning_service: ServiceProcess, tmp_path: Path
) -> None:
    table = written(session, tmp_path, "asked")
    with pytest.raises(PySparkException, match=r"not read the table by a condition .* by FOR"):
        session.sql("ANALYZE INDEXES asked")
    with session_settings(session, pruned_by(pruning_service.address)):
        for _ in range(3):
            session.sql("SELECT a.id FROM asked a WHERE a.city = 'c3'").collect()
        session.read.format("hudi").load(table.uri).where("id = 7").collect()
    found = session.sql("ANALYZE INDEXES asked").collect()
    named = ", ".join(["\"city = 'c3'\""] * 3 + ["'id = 7'"])
    assert found == session.sql(f"ANALYZE INDEXES asked FOR {named}").collect()
    assert any("city" in row.statement for row in found if row.recommended)


def test_each_session_has_its_own_database(session: SparkSession, tmp_path: Path) -> None:
    here = written(session, tmp_path / "here", "same")
    other = session.newSession()
    with session_settings(other, OURS):
        other.sql("CREATE DATABASE elsewhere")
        other.sql("USE elsewhere")
        there = written(other, tmp_path / "there", "same")
        other.sql("CREATE INDEX i ON same USING column_stats(a)")
        assert ("i" in states(here), "i" in states(there)) == (False, True)
        with pytest.raises(PySparkException, match="no table of the session's catalog has"):
            session.sql("DROP INDEX j")
        session.sql("DROP INDEX i")
        assert not states(there)
        for _ in range(2):
            other.sql("CREATE INDEX IF NOT EXISTS i ON same USING column_stats(a)")
            other.sql("CREATE INDEX IF NOT EXISTS i ON stated.same USING column_stats(a)")
            other.sql("DROP INDEX i")
        assert ("i" in states(here), "i" in states(there)) == (True, False)
        other.sql("DROP DATABASE elsewhere CASCADE")
    assert session.catalog.currentDatabase() == "stated"
    default = session._jvm.SparkSession.getDefaultSession().get()
    assert default.equals(session._jsparkSession)


@pytest.mark.smoke("CREATE INDEX i ON wrong USING column")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE INDEX i ON wrong USING", "expected a kind of index, but it ends"),
        ("OPTIMIZE wrong ORDER BY a", "expected ZORDER BY.* found 'ORDER.*' in line 1"),
        ("CREATE INDEX i ON wrong USING column_stats(b)", "there is no column 'b'"),
        ("CREATE INDEX i ON wrong USING btree(a)", "no kind of index 'btree': there are .*bloom"),
        ("DROP INDEX none ON wrong", "there is no index 'none'"),
        ("SHOW INDEXES FROM '/no/table'", "/no/table"),
        ("OPTIMIZE wrong ZORDER BY (a) OPTIONS (size = 3)", "no option 'size'.* files"),
    ],
)
def test_errors_are_in_our_words(
    session: SparkSession, tmp_path: Path, text: str, message: str
) -> None:
    written(session, tmp_path, "wrong")
    with pytest.raises(PySparkException, match=message):
        session.sql(text)


def test_a_python_that_cannot_run_it_is_named(session: SparkSession) -> None:
    for program in ("/no/python", "/bin/false"):
        with (
            session_settings(session, {"spark.pyhudi.python": program}),
            pytest.raises(PySparkException, match=f"(?s){program}"),
        ):
            session.sql("SHOW INDEXES FROM '/no/table'")


def test_what_is_not_ours_is_hudis(session: SparkSession, tmp_path: Path) -> None:
    table = written(session, tmp_path, "hudis")
    assert session.sql("CALL show_commits(table => 'hudis')").count() == 1
    session.sql("UPDATE hudis SET a = 0 WHERE id = 3")
    assert read(session, table.path).where(f.col("a") == 0).count() == 2


def test_other_formats_have_their_statements(session: SparkSession) -> None:
    """Spark parses this one, and has no plan for it."""
    session.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS city")
    with pytest.raises(Exception, match="No plan for CreateIndex"):
        session.sql("CREATE INDEX i ON plain (city)")
