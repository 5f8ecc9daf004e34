"""CREATE INDEX writes what its plan names, and succeeds only if the index can be used."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.manage.building import Builder, IndexBuilding
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.manage.indexing.index_plan import InvalidIndex
from pyhudi_expr.manage.indexing.preparation import RecoveryPlan, Work
from pyhudi_expr.manage.indexing.statements import CreateIndex, RefreshIndex
from pyhudi_expr.manage.operations import Action, OperationFailed, carry_out, run
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes.async_indexing import announce
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from tests.manage.indexing.sparkless_indexes import build_in_extension
from tests.tables.directory_contents import contents

TABLE = "cow_v8_complexkeygen_hivestyle"
NAME = "names"
ROOT = ".hoodie/pyhudi/metadata"


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden[TABLE], tmp_path / "t"))


def states(path: Path) -> dict[str, State]:
    return {one.name: one.state for one in index_statuses(HudiTable.open(str(path)))}


def creation(
    path: Path, build: Builder = build_in_extension, if_not_exists: bool = False
) -> IndexBuilding:
    request = CreateIndex(
        NAME,
        str(path),
        columns=("name",),
        options={"store": "extension"},
        if_not_exists=if_not_exists,
    )
    return IndexBuilding(request, BuildOptions(wait=1), build)


def test_what_the_plan_names_is_written_and_nothing_else(path: Path) -> None:
    before = contents(path)
    operation = creation(path)
    plan = operation.plan()
    operation.check(plan)
    assert contents(path) == before
    done = carry_out(operation, plan)
    assert done is not None
    assert done.notes == ()
    assert states(path) == {NAME: State.ACTIVE}
    written = [one.what for one in plan.changes if one.action is Action.WRITE]
    assert written == [f"{ROOT}/record_index", f"{ROOT}/secondary_index_{NAME}"]
    after = contents(path)
    assert {name: after[name] for name in before} == before
    data = [name for name in after if name not in before and ".hoodie/" not in str(name)]
    assert data == []


def test_an_index_that_is_there_needs_no_work(path: Path) -> None:
    run(creation(path))
    before = contents(path)
    again = creation(path, if_not_exists=True)
    assert again.plan().changes == ()
    assert run(again) is None
    assert (
        run(IndexBuilding(RefreshIndex(NAME, str(path)), BuildOptions(wait=1), build_in_extension))
        is None
    )
    assert contents(path) == before
    with pytest.raises(InvalidIndex, match=f"the index '{NAME}' exists"):
        creation(path).plan()


def test_a_build_that_fails_leaves_all_as_before(path: Path) -> None:
    before = contents(path)

    def failing(work: Work) -> BuildResult:
        raise HudiError("no space")

    with pytest.raises(OperationFailed, match=f"no space; no row .* the index {NAME} is not there"):
        run(creation(path, failing))
    assert contents(path) == before


def test_a_build_whose_files_are_gone_is_no_success(path: Path) -> None:
    """As if a store had lost what was written."""

    def lost(work: Work) -> BuildResult:
        done = build_in_extension(work)
        for file in (path / ROOT / f"secondary_index_{NAME}").glob("*.hfile"):
            file.unlink()
        return done

    with pytest.raises(OperationFailed, match=f"files of the index {NAME} cannot be read"):
        run(creation(path, lost))


def test_a_build_that_wrote_nothing_is_no_success(path: Path) -> None:
    with pytest.raises(OperationFailed, match=f"there is no index {NAME}"):
        run(creation(path, lambda work: BuildResult(NAME, "", {}, {})))


def test_a_build_that_died_is_planned_to_be_ended_first(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))
    table = HudiTable.open(str(path))
    announce(table, [NewPartition("bloom_filters", 4)], TableLock(table.storage))
    before = contents(path)
    operation = IndexBuilding(
        CreateIndex(NAME, str(path), columns=("merchant_name",)),
        BuildOptions(wait=1),
        build_in_extension,
    )
    plan = operation.plan()
    assert isinstance(plan.work, RecoveryPlan)
    assert [one.what for one in plan.changes] == [".hoodie/metadata/bloom_filters"]
    assert contents(path) == before
