"""An operation is what it plans, is refused before it acts, and undone if it cannot be verified."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.invariants import SliceKeys
from pyhudi_expr.manage.operations import Action, OperationFailed, carry_out, plan_record, run
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import (
    DisableVirtualKeys,
    EnableVirtualKeys,
    RewriteWithoutKeys,
    Rewritten,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.properties import update
from pyhudi_expr.tables.storage import Storage
from tests.tables.directory_contents import contents

WITH_KEYS = "cow_v8_complexkeygen_hivestyle"
WITHOUT_KEYS = "cow_v8_simplekeygen_hivestyle_no_metafields"
POPULATE = "hoodie.populate.meta.fields"


def copied(golden: Mapping[str, Path], name: str, tmp_path: Path) -> Storage:
    return Storage.open(str(shutil.copytree(golden[name], tmp_path / name)))


def properties(storage: Storage) -> Mapping[str, str]:
    return HudiTable.at(storage).properties.raw


@dataclass(frozen=True)
class IdleRewriter:
    """Claims that it has rewritten the slices."""

    skipped: int = 0

    def __call__(self, slices: Sequence[SliceKeys]) -> Rewritten:
        return Rewritten(("1",), len(slices) - self.skipped, self.skipped)


def disabling(storage: Storage, skipped: int = 0) -> DisableVirtualKeys:
    return DisableVirtualKeys(storage, TableLock(storage, wait=1), IdleRewriter(skipped), tuple)


def test_planning_and_checking_change_nothing(golden: Mapping[str, Path], tmp_path: Path) -> None:
    storage = copied(golden, WITHOUT_KEYS, tmp_path)
    before = contents(Path(storage.uri))
    operation = disabling(storage)
    operation.check(operation.plan())
    assert contents(Path(storage.uri)) == before


def test_a_plan_names_every_file_and_property_that_changes(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    storage = copied(golden, WITHOUT_KEYS, tmp_path)
    plan = disabling(storage).plan()
    listing = HudiTable.at(storage).listing()
    replaced = [one.what for one in plan.changes if one.action is Action.REPLACE]
    assert sorted(replaced) == sorted(listing.paths(~listing.file_is_log))
    assert [(one.what, one.value) for one in plan.changes if one.action is Action.SET] == [
        (POPULATE, "true")
    ]
    record = plan_record(plan)
    assert record["files"] == len(replaced)
    assert record["bytes"] == int(listing.file_size.sum())


def test_disable_does_not_believe_a_rewriter(golden: Mapping[str, Path], tmp_path: Path) -> None:
    """Rows that still have no key keep the table virtual."""
    storage = copied(golden, WITHOUT_KEYS, tmp_path)
    before = properties(storage)
    with pytest.raises(OperationFailed, match=r"rows have no stored key.*are as before"):
        run(disabling(storage))
    assert properties(storage) == before


def test_disable_fails_if_file_groups_cannot_be_rewritten_yet(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    storage = copied(golden, WITHOUT_KEYS, tmp_path)
    before = properties(storage)
    with pytest.raises(OperationFailed, match=r"1 file groups have a pending.*run_compaction"):
        run(disabling(storage, skipped=1))
    assert properties(storage) == before


def test_disable_waits_for_no_writer_and_names_it(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    storage = copied(golden, WITH_KEYS, tmp_path)
    run(EnableVirtualKeys(storage, VirtualKeySettings(), TableLock(storage, wait=1)))
    before = properties(storage)
    requested = (
        HudiTable.at(storage).properties.timeline_dir + "/29990101000000000.commit.requested"
    )
    storage.write(requested, b"")
    with pytest.raises(OperationFailed, match=r"writers are at work \(29990101000000000\)"):
        run(disabling(storage))
    assert properties(storage) == before
    storage.delete(requested)
    run(disabling(storage))
    assert properties(storage)[POPULATE] == "true"


def test_a_table_that_already_lacks_keys_stays_as_it_is_where_mending_fails(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    storage = copied(golden, WITHOUT_KEYS, tmp_path)
    update(storage, {POPULATE: "true"})
    before = properties(storage)
    with pytest.raises(OperationFailed, match="no stored key"):
        run(disabling(storage))
    assert properties(storage) == before


def test_rewrite_fails_if_files_still_have_keys(golden: Mapping[str, Path], tmp_path: Path) -> None:
    storage = copied(golden, WITH_KEYS, tmp_path)
    run(EnableVirtualKeys(storage, VirtualKeySettings(), TableLock(storage, wait=1)))
    with pytest.raises(OperationFailed, match="still has stored keys"):
        run(RewriteWithoutKeys(storage, None, IdleRewriter(), tuple))


def test_enable_is_undone_if_its_properties_are_not_there_afterwards(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """As if another writer had changed them, between acting and verifying."""
    storage = copied(golden, WITH_KEYS, tmp_path)
    before = properties(storage)

    class Disturbed(EnableVirtualKeys):
        def act(self, plan):
            super().act(plan)
            update(storage, {POPULATE: "true"})

    with pytest.raises(OperationFailed, match=f"{POPULATE} is 'true' afterwards.*are as before"):
        run(Disturbed(storage, VirtualKeySettings(), TableLock(storage, wait=1)))
    assert properties(storage) == before


def test_a_plan_of_an_earlier_state_is_refused(golden: Mapping[str, Path], tmp_path: Path) -> None:
    storage = copied(golden, WITH_KEYS, tmp_path)
    operation = EnableVirtualKeys(storage, VirtualKeySettings(), TableLock(storage, wait=1))
    plan = operation.plan()
    stale = replace(plan, after=(*plan.after, ("hoodie.recordkey.virtual.columns", "name")))
    before = properties(storage)
    with pytest.raises(HudiError, match="changed meanwhile"):
        carry_out(operation, stale)
    assert properties(storage) == before
