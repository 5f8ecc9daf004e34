"""From stored keys to virtual ones and back: rows are kept, and a killed run can be completed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import ROOT, hudi_bundle
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.spark.virtual_keys import rewriting
from pyhudi_expr.spark.virtual_keys.key_column import load
from pyhudi_expr.spark.virtual_keys.rewriting import restore, rewrite
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, write
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.keys.key_storage import key_storage
from pyhudi_expr.tables.locks import TableLock
from tests.spark.virtual_keys.slice_keys import keys_of_rows
from tests.spark.virtual_keys.virtual_tables import (
    QUICK,
    Rows,
    frame,
    keys_that_hudi_reads,
    some,
    stored,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]


class Killed(BaseException):
    """Raised where a process would be killed. A BaseException, so that no handler catches it."""


@dataclass(frozen=True)
class Hudi:
    """A writer with its own options, for a table with stored keys."""

    spark: SparkSession
    path: str
    version: str = "9"
    is_mor: bool = False

    def write(self, rows: Rows, operation: str) -> None:
        spec = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read=self.is_mor)
        options = {
            **spec.writer_options(),
            **QUICK,
            hudi_names.POPULATE_META_FIELDS: "true",
            "hoodie.write.table.version": self.version,
            "hoodie.write.auto.upgrade": "false",
            "hoodie.datasource.write.operation": operation,
        }
        writer = frame(self.spark, rows).write.format("hudi").options(**options)
        writer.mode("append").save(self.path)


def switch(path: str, settings: VirtualKeySettings) -> None:
    table = HudiTable.open(path)
    enable(table, settings, TableLock(table.storage))


def keys_that_we_show(spark: SparkSession, path: str) -> set[str | None]:
    return {row[0] for row in load(spark, path).select("_hoodie_record_key").collect()}


@pytest.mark.parametrize(("version", "is_mor"), [("9", True), ("6", False)])
def test_from_stored_keys_to_virtual_ones_and_back(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    is_mor: bool,
) -> None:
    path = str(tmp_path / "t")
    hudi = Hudi(spark, path, version, is_mor)
    hudi.write(some(0, 7, 1), "bulk_insert")
    hudi.write(some(1, 3, 2), "upsert")
    hudi.write(some(6, 7, 9), "delete")
    rows = {**some(0, 6, 1), **some(1, 3, 2)}
    assert keys_that_we_show(spark, path) == set(rows)
    switch(path, VirtualKeySettings(keep_column=True))
    assert keys_that_hudi_reads(spark, path) == set(rows)
    assert keys_that_we_show(spark, path) == {None}
    switch(path, VirtualKeySettings())

    changed = {**some(0, 1, 2), **some(6, 8, 2)}
    write(frame(spark, changed), path, "upsert", QUICK)
    rows |= changed
    assert stored(spark, path) == rows
    assert keys_that_we_show(spark, path) == {None}
    nulls = pruned(spark, path, "v = 2 AND _hoodie_record_key IS NULL").select("k").collect()
    assert {row.k for row in nulls} == {
        key_column for key_column, (value, _) in rows.items() if value == 2
    }
    assert keys_of_rows(path) == sorted(rows)
    assert key_storage(HudiTable.open(path)).bytes_to_save > 0
    with pytest.raises(HudiError, match="no partition with files 'p9'"):
        rewrite(spark, path, ["p1", "p9"], 1, lambda *_: None)
    progress: list[tuple[int, int]] = []
    one = rewrite(spark, path, ["p1"], 1, lambda *done: progress.append(done))
    assert progress[-1] == (one.file_groups, one.file_groups) != (0, 0)
    assert rewrite(spark, path, None, 1, lambda *_: None).file_groups >= 1
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}
    after = key_storage(HudiTable.open(path))
    assert (after.files_with_keys, after.bytes_to_save) == (0, 0)
    assert after.bytes_saved > 0
    assert rewrite(spark, path, None, 1, lambda *_: None).instants == ()

    with monkeypatch.context() as patched:
        patched.setattr(rewriting, "service_options", raise_killed)
        with pytest.raises(Killed):
            restore(spark, path)
    assert is_virtual(HudiTable.open(path).properties)
    assert keys_of_rows(path) == sorted(rows)
    restore(spark, path)
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == set(rows)
    assert not any("virtual" in name for name in HudiTable.open(path).properties.raw)
    hudi.write(some(1, 2, 9), "upsert")
    assert stored(spark, path) == {**rows, **some(1, 2, 9)}


def raise_killed(_path: str) -> dict[str, str]:
    raise Killed


def test_a_killed_rewrite_is_resumed(spark: SparkSession, tmp_path: Path) -> None:
    """Killed after planning, while writing, and between two commits."""
    path, rows = str(tmp_path / "t"), some(0, 12, 1, partitions=4)
    Hudi(spark, path).write(rows, "bulk_insert")
    switch(path, VirtualKeySettings())
    assert key_storage(HudiTable.open(path)).files_with_keys == 4
    for moment in (is_planned, is_writing, has_committed):
        start_and_kill(path, moment)
        assert stored(spark, path) == rows
        assert keys_of_rows(path) == sorted(rows)
    files_left = key_storage(HudiTable.open(path)).files_with_keys
    assert 0 < files_left < 4
    done = answer("rewrite", path)
    assert (done["file_groups"], done["files_with_keys"]) == (files_left, 0)
    assert not HudiTable.open(path).timeline.pending
    assert stored(spark, path) == rows
    assert answer("disable", path)["files_with_keys"] == 4
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == set(rows)


def start_and_kill(path: str, moment: Callable[[Path, Set[str]], bool]) -> None:
    """Starts a rewrite, and kills it at this moment."""
    before = HudiTable.open(path).timeline.pending
    child = subprocess.Popen(command("rewrite", path), cwd=ROOT, start_new_session=True)
    while not moment(Path(path), before):
        assert child.poll() is None, "the command completed before it could be killed"
        time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def is_planned(path: Path, before: Set[str]) -> bool:
    return bool(HudiTable.open(str(path)).timeline.pending - before)


def is_writing(path: Path, before: Set[str]) -> bool:
    pending = HudiTable.open(str(path)).timeline.pending - before
    return any(any(path.glob(f"p*/*_{instant}.parquet")) for instant in pending)


def has_committed(path: Path, _before: Set[str]) -> bool:
    return any((path / ".hoodie/timeline").glob("*.replacecommit"))


def answer(name: str, path: str) -> dict[str, Any]:
    """The output of the command."""
    ended = subprocess.run(
        command(name, path), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def command(name: str, path: str) -> list[str]:
    """`pyhudi virtual-keys ...`; `rewrite` with a commit for each file group."""
    settings = {
        "spark.driver.extraClassPath": str(hudi_bundle()),
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    own = ("--commit-bytes", "1") if name == "rewrite" else ()
    return [
        *(sys.executable, "-m", "pyhudi_expr.cli", "virtual-keys", name, path),
        *(*own, "--master", "local[2]", "--json", *conf),
    ]
