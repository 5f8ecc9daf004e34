"""A command that has nothing to do removes what an earlier one left when it died."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.dropping import drop_index
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import InvalidIndex
from pyhudi_expr.manage.indexing.leftovers import LeftoverRemoval
from pyhudi_expr.manage.indexing.statements import DropIndex
from pyhudi_expr.manage.operations import Action
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes.partitions import move_partitions
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from tests.tables.directory_contents import contents

_MERCHANT = "secondary_index_merchant_idx"


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t")


def test_a_lock_and_a_copy_of_properties_are_removed(path: Path) -> None:
    before, hoodie = contents(path), path / ".hoodie"
    ended = subprocess.Popen(["true"])
    ended.wait()
    (hoodie / "lock").write_text(json.dumps({**this_process(), PROCESS: str(ended.pid)}))
    shutil.copy(hoodie / "hoodie.properties", hoodie / "hoodie.properties.backup")
    reserve = json.dumps({**this_process(), PROCESS: str(ended.pid)}).encode() + b"\n"
    (hoodie / "pyhudi").mkdir(exist_ok=True)
    (hoodie / "pyhudi" / "reserve").write_bytes(reserve)
    storage = HudiTable.open(str(path)).storage
    plan = LeftoverRemoval(storage, TableLock(storage)).plan()
    assert [(one.action, one.what) for one in plan.changes] == [
        (Action.REMOVE, ".hoodie/pyhudi/reserve"),
        (Action.REMOVE, ".hoodie/hoodie.properties.backup"),
        (Action.REMOVE, "the table's lock, of a process that has ended"),
    ]
    drop_index(DropIndex("none", str(path), if_exists=True), BuildOptions())
    assert contents(path) == before


def test_a_lock_that_stays_is_no_success(path: Path) -> None:
    """As if it could not be deleted: Hudi's writers would wait for it."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    lock = path / ".hoodie" / "lock"
    lock.write_text(json.dumps({**this_process(), PROCESS: str(ended.pid)}))
    storage = HudiTable.open(str(path)).storage
    operation = LeftoverRemoval(storage, TableLock(storage))
    plan = operation.plan()
    with pytest.raises(HudiError, match="still that of a process that has ended"):
        operation.verify(plan, True)
    assert operation.act(plan)
    operation.verify(plan, True)
    assert not lock.exists()


def test_what_another_writer_holds_is_left_alone(path: Path) -> None:
    hoodie = path / ".hoodie"
    shutil.copy(hoodie / "hoodie.properties", hoodie / "hoodie.properties.backup")
    options = BuildOptions(lock=lambda storage: TableLock(storage, wait=0.1))
    with TableLock(HudiTable.open(str(path)).storage).held("writes"):
        drop_index(DropIndex("none", str(path), if_exists=True), options)
        assert (hoodie / "hoodie.properties.backup").exists()


@pytest.mark.parametrize("name", ["merchant_idx", _MERCHANT])
def test_a_drop_that_died_is_ended(path: Path, name: str) -> None:
    """Its index is not listed any more, so it has no status; its files and definition are there."""
    table = HudiTable.open(str(path))
    move_partitions(table, removed=[_MERCHANT])
    assert _MERCHANT in index_definitions(table.refreshed())
    others = set(index_definitions(table)) - {_MERCHANT}
    drop_index(DropIndex(name, str(path)), BuildOptions())
    assert set(index_definitions(table.refreshed())) == others
    assert not (path / METADATA_DIR / _MERCHANT).exists()
    with pytest.raises(InvalidIndex, match="there is no index"):
        drop_index(DropIndex(name, str(path)), BuildOptions())
