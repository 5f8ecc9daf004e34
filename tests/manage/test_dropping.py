"""DROP INDEX removes what its plan names, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.manage.dropping import DropPlan, IndexDrop
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.statements import DropIndex
from pyhudi_expr.manage.operations import OperationFailed, carry_out, run
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict
from tests.manage.indexing import sparkless_indexes
from tests.tables.directory_contents import contents

TABLE = "cow_v9_txns_simple_meta"
DROPPED = "merchant_idx"


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden[TABLE], tmp_path / "t"))


def states(path: Path) -> dict[str, State]:
    return {one.name: one.state for one in index_statuses(HudiTable.open(str(path)))}


def dropping(path: Path, name: str = DROPPED) -> IndexDrop:
    return IndexDrop(DropIndex(name, str(path)), BuildOptions(wait=1))


def test_what_the_plan_names_is_removed_and_nothing_else(path: Path) -> None:
    before, active = contents(path), states(path)
    operation = dropping(path)
    plan = operation.plan()
    operation.check(plan)
    assert contents(path) == before
    assert carry_out(operation, plan) == ()
    gone = {name for name in before if name not in contents(path)}
    named = tuple(change.what for change in plan.changes)
    assert gone
    assert {name for name in gone if not str(name).startswith(named)} == set()
    del active[DROPPED]
    assert states(path) == active


def test_a_drop_that_leaves_files_is_no_success(path: Path) -> None:
    """As if a step had not done what it said."""
    real = dropping(path)

    class Idle(IndexDrop):
        def act(self, plan: DropPlan) -> None:
            pass

    with pytest.raises(OperationFailed, match=rf"index {DROPPED} is still there.*run it again"):
        run(Idle(real.request, real.options))
    assert run(real) == ()


def test_an_index_is_not_taken_for_another_ones_partition(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """An index of the extension may have a metadata partition of this name, too."""
    path = Path(shutil.copytree(golden["cow_v9_timebasedkeygen_nonhivestyle"], tmp_path / "t"))
    table = HudiTable.open(str(path))
    other = RegisteredIndex("a", COLUMN_STATS, ("id",), {}, Store.EXTENSION, (COLUMN_STATS,), "")
    Registry.read(table.storage).with_index(other).write(table.storage)
    before = states(path)
    run(dropping(path, COLUMN_STATS))
    del before[COLUMN_STATS]
    assert states(path) == before


def test_a_record_index_that_was_asked_for_stays_whatever_its_name_is(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """One without a registration was made for secondary indexes only, and goes with the last."""
    path = Path(shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t"))
    sparkless_indexes.create_by_name(str(path))
    table = HudiTable.open(str(path))
    keys = RegisteredIndex("keys", RECORD_INDEX, (), {}, Store.EXTENSION, (RECORD_INDEX,), "")
    Registry.read(table.storage).with_index(keys).write(table.storage)
    before = states(path)
    assert run(dropping(path, sparkless_indexes.BY_NAME)) == ()
    del before[sparkless_indexes.BY_NAME]
    assert states(path) == before
    assert before["keys"] is State.ACTIVE


def test_nothing_of_hudis_is_dropped_from_version_6_while_an_action_is_pending(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """A writer that wants the index again would not follow the metadata table until then."""
    path = Path(shutil.copytree(golden["mor_v6_metadata_pending_compaction"], tmp_path / "t"))
    (path / ".hoodie" / "20990101000000000.compaction.requested").touch()
    before = contents(path)
    with pytest.raises(IndexConflict, match="20990101000000000 are pending"):
        run(dropping(path, COLUMN_STATS))
    assert contents(path) == before


def test_what_hudi_would_make_again_at_the_instant_of_an_index_action_is_not_dropped(
    path: Path,
) -> None:
    """The next write would take back the index of that action; others do not come back."""
    newest = HudiTable.open(str(path)).timeline.index_actions[-1].requested
    before = contents(path)
    with pytest.raises(IndexConflict, match=f"newest action, {newest}, has built an index"):
        run(dropping(path, COLUMN_STATS))
    assert contents(path) == before
    assert run(dropping(path)) == ()
