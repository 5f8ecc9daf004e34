"""The documents' statements, commands and programs for Hive, run with a real HiveServer2."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import HUDI_AUX, aux_jars, hive_jdbc, java
from devtools.scan_reports import ScanReports
from devtools.service import ServiceProcess
from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.registration import registration, statements, view_registrations
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.docs.documents import Piece, Runner, pieces

pytestmark = [pytest.mark.hive, pytest.mark.spark]

_SYNCED = """
CREATE EXTERNAL TABLE {name} (id bigint, ts timestamp, city string, fare decimal(9,2))
PARTITIONED BY (day string)
ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'
STORED AS INPUTFORMAT 'org.apache.hudi.hadoop.HoodieParquetInputFormat'
OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'
LOCATION '{path}'
"""
"""Registers the table as Hudi's sync does."""
_LOCATIONS = re.compile(r"(/warehouse/trips|\./trips|/path/of/table|s3a://lake/trips)\b")
_NAMED = re.compile(r"TABLE (\w+)")
_JAVA_SECONDS = 300
_QUERY = "SELECT id FROM {name} WHERE fare > 169.5"


@dataclass(frozen=True)
class Reader:
    """Follows a document, with a table of its own."""

    session: HiveSession
    port: int
    service: str
    path: Path
    reports: ScanReports

    def follow(self, piece: Piece) -> None:
        text = _LOCATIONS.sub(str(self.path), piece.text).replace("10000", str(self.port))
        if piece.kind == "sql":
            self._state(text)
        elif piece.kind == "python":
            self._program(text)
        elif piece.kind == "java":
            self._java(text)
        elif piece.words[0] == "beeline":
            self._beeline(piece.words)
        else:
            self._command([_LOCATIONS.sub(str(self.path), word) for word in piece.words[1:]])

    def _state(self, text: str) -> None:
        found = _NAMED.search(text)
        if found is None:
            self.session.run(text)
            return
        name = found.group(1)
        self.session.run(f"DROP TABLE IF EXISTS {name}")
        if "SET FILEFORMAT" in text:
            self.session.run(_SYNCED.format(name=name, path=self.path))
            days = sorted(self.path.glob("day=*"))
            added = (f"PARTITION (day='{day.name[4:]}') LOCATION '{day}'" for day in days)
            self.session.run(f"ALTER TABLE {name} ADD {' '.join(added)}")
            text = text.replace(" [PARTITION (...)]", "")
            self.session.run(text.replace(f"TABLE {name}", f"TABLE {name} PARTITION (day)"))
        self.session.run(text)
        self.reports.take()
        rows = self.session.run(_QUERY.format(name=name))
        assert sorted(rows) == [(each,) for each in self.ids(169.5)]
        scan = self.reports.take()
        assert 0 < scan.files_kept < scan.files_considered == 80

    def _program(self, text: str) -> None:
        names: dict[str, Any] = {"__name__": "document"}
        source = text.replace(f", {self.port})", f', {self.port}, auth="NOSASL")')
        exec(compile(source, "document", "exec"), names)  # noqa: S102  the documents' own examples
        assert sorted(row[0] for row in names["rows"]) == self.ids(100)

    def _java(self, text: str) -> None:
        """A program in one file, with the driver that the document names."""
        (called,) = re.findall(r"public class (\w+)", text)
        session_settings = {
            **self.reports.settings(),
            "hudi.pruning.service.addresses": self.service,
        }
        settings = ";".join(f"{name}={value}" for name, value in session_settings.items())
        program = self.path.parent / f"{called}.java"
        program.write_text(text.replace("/sales", f"/sales;auth=noSasl?{settings}"))
        self.reports.take()
        command = [str(java()), "-cp", str(hive_jdbc()), str(program)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_JAVA_SECONDS
        )
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()]
        assert sorted(int(number) for number, _ in lines) == self.ids(100)
        scan = self.reports.take()
        assert 0 < scan.files_kept < scan.files_considered == 80

    def _beeline(self, words: list[str]) -> None:
        """Its statement; the runtime has no Beeline."""
        database = words[words.index("-u") + 1].rpartition("/")[2]
        statement = words[words.index("-e") + 1].replace("FROM ", f"FROM {database}.")
        assert self.session.run(statement) == [(len(self.ids(100)),)]

    def _command(self, words: list[str]) -> None:
        if words[:2] == ["hive", "jars"]:
            self._jars(words)
            return
        if "--metadata" in words:
            self._described()
            return
        if words[:2] == ["hive", "doctor"]:
            words = [word.replace("timeout.ms=500", "timeout.ms=60000") for word in words]
            words += ["--set", f"hudi.pruning.service.addresses={self.service}"]
        words = [word.replace(":10000", f":{self.port}") for word in words]
        assert main(words) == 0, words

    def _described(self) -> None:
        """The command's statements, in a session that knows the service."""
        name = TableName("sales", "trips")
        target = registration(HudiTable.open(str(self.path)), name, str(self.path))
        for each in (target, *view_registrations(target)):
            self.session.run(f"DROP TABLE IF EXISTS {each.name}")
            for statement in statements(each, None).all:
                self.session.run(statement)

    def _jars(self, words: list[str]) -> None:
        """What has to be fetched is there already."""
        directory = self.path.parent / "auxlib"
        directory.mkdir(exist_ok=True)
        for jar in HUDI_AUX.glob("*.jar"):
            (directory / jar.name).symlink_to(jar)
        assert main([*words[:2], str(directory), *words[3:]]) == 0, words
        assert {jar.name for jar in aux_jars()} == {jar.name for jar in directory.iterdir()}
        shutil.rmtree(directory)

    def ids(self, fare: float) -> list[int]:
        """The ids of the rows with a higher fare, sorted."""
        rows = ds.dataset(self.path, exclude_invalid_files=True, ignore_prefixes=[".", "_"])
        found = rows.to_table(["id"], filter=pc.field("fare").cast("double") > fare)
        return sorted(found.column("id").to_pylist())


@pytest.fixture(scope="module")
def trips(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents' table, with an index. Read-only."""
    path = tmp_path_factory.mktemp("documents") / "trips"
    write_demo_table(path)
    ranges = f"CREATE INDEX ranges ON '{path}' USING column_stats(fare, city)"
    execute(spark, f"{ranges} OPTIONS (store = 'extension', shards = '1')")
    return path


@pytest.fixture
def reader(
    hive_server: HiveServer,
    pruning_service: ServiceProcess,
    trips: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Reader]:
    monkeypatch.setenv("PYHUDI_HS2", f"127.0.0.1:{hive_server.port}")
    monkeypatch.setenv("PYHUDI_HS2_AUTH", "NOSASL")
    path = shutil.copytree(trips, tmp_path / "trips")
    reports = ScanReports(tmp_path / "scans")
    # On a busy machine, the first answer for a table may take longer than the default.
    default_settings = {
        "hudi.pruning.service.addresses": pruning_service.address,
        "hudi.pruning.timeout.ms": "60000",
    }
    with hive_server.session(
        {**ENGINES["fetch"], **reports.settings(), **default_settings}
    ) as session:
        session.run("CREATE DATABASE IF NOT EXISTS sales")
        yield Reader(session, hive_server.port, pruning_service.address, path, reports)
        for name in ("trips", "t", "sales.trips"):
            session.run(f"DROP TABLE IF EXISTS {name}")


def documents() -> Iterator[Any]:
    """The pieces of each document about Hive, in order; the most read document is tested first."""
    for document, found in groupby(pieces(Runner.HIVE), lambda piece: piece.document):
        marks = () if document == "README.md" else (pytest.mark.long,)
        yield pytest.param(list(found), id=document, marks=marks)


@pytest.mark.smoke
@pytest.mark.parametrize("pieces_of_document", list(documents()))
def test_documented_statements_for_hive_work(
    pieces_of_document: list[Piece], reader: Reader
) -> None:
    for piece in pieces_of_document:
        reader.follow(piece)
