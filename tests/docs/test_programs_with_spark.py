"""The documents' programs and commands that need Spark, run on a table that Hudi writes."""

import re
import shlex
import shutil
from itertools import groupby

import pytest

import pyhudi_expr
from devtools.tables import TableSpec, create
from pyhudi_expr.cli.main import main
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.docs.documents import Runner, pieces
from tests.index.prune.matching_slices import read

pytestmark = [pytest.mark.spark, pytest.mark.long]

_SPEC = TableSpec("trips", ordering="ts", partitions=("day",), stats_columns=None)
_ROWS = """
SELECT id, timestamp_seconds(1714550400 + id) AS ts, 'rider ' || id % 9 AS rider,
  element_at(array('Oslo', 'Lima', 'Rome'), cast(id % 3 + 1 AS int)) AS city,
  cast(id AS double) AS fare, '2024-05-0' || (1 + id % 2) AS day
FROM range(0, 400, 1, 4)
"""
_PREDICATES = ("fare > 100", "city = 'Oslo' AND fare < 7", "rider = 'rider 3'")


@pytest.fixture(scope="module")
def trips(spark, tmp_path_factory):
    """The documents' table."""
    return create(spark.sql(_ROWS), _SPEC, tmp_path_factory.mktemp("programs")).path


@pytest.fixture
def path(spark, trips, tmp_path):
    """A copy of it, which is warehouse.trips in the session's catalog."""
    path = shutil.copytree(trips, tmp_path / "trips")
    spark.sql("CREATE DATABASE IF NOT EXISTS warehouse")
    spark.sql(f"CREATE TABLE warehouse.trips USING hudi LOCATION '{path}'")
    before = settings(spark)
    yield path
    for name in filter(spark.conf.isModifiable, settings(spark) - before):
        spark.conf.unset(name)
    spark.sql("DROP DATABASE warehouse CASCADE")


def settings(spark):
    return {row.key for row in spark.sql("SET").collect()}


def complete_program(text, path):
    """Replaces `...` in the program: by a write to the table, or options of a writer."""
    first = HudiTable.open(str(path)).timeline.writes[0].requested
    text = text.replace("20260101000000000", first).replace("/warehouse/trips", str(path))
    given = "".join(f".option({key!r}, {value!r})" for key, value in _SPEC.options().items())
    return text.replace(")...", f'){given}.mode("append").save("{path}")')


@pytest.mark.parametrize("piece", pieces(Runner.SPARK, "python"), ids=str)
def test_programs_with_spark_run(piece, spark, path):
    text = complete_program(piece.text, path)
    if "VirtualTable" in text:  # it creates a table itself
        shutil.rmtree(path)
    frame = spark.sql(_ROWS)
    given = {"__name__": "document", "spark": spark, "frame": frame, "changes": frame.limit(20)}
    exec(compile(text, "document", "exec"), given)  # noqa: S102  the documents' own examples
    assert_no_row_lost(spark, path)


def assert_no_row_lost(spark, path):
    """Compared with the rows that Hudi reads, without our own reader."""
    columns = [f"({text}) AS asked_{number}" for number, text in enumerate(_PREDICATES)]
    rows = read(spark, path).selectExpr("id", *columns).collect()
    for number, text in enumerate(_PREDICATES):
        found = pyhudi_expr.scan(str(path), text, ["id"], zone="UTC").to_table()
        expected_ids = sorted(row.id for row in rows if row[1 + number])
        assert sorted(found.column("id").to_pylist()) == expected_ids != []


def blocks():
    """The commands of each block, which are run one after the other."""
    every = groupby(pieces(Runner.SPARK, "shell"), lambda piece: (piece.document, piece.number))
    return [pytest.param(list(found), id=f"{name}-{number}") for (name, number), found in every]


@pytest.mark.parametrize("commands", blocks())
def test_commands_with_spark_run_in_order(commands, spark, path, monkeypatch, capsys):
    # Commands stop their session, and the tests' own session has to stay.
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    for piece in commands:
        # Hudi's bundle is in the session already.
        text = re.sub(r"--conf spark\.jars=\S+", "", " ".join(map(shlex.quote, piece.words[1:])))
        words = shlex.split(text.replace("/warehouse/trips", str(path)))
        assert main(words) == 0, f"{piece}: {capsys.readouterr().err}"
        assert capsys.readouterr().out.strip()
        assert_no_row_lost(spark, path)
