"""Certificates are what the plan names, and can be read afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.certifying import READER, CertificationPlan, Certified, IndexCertification
from pyhudi_expr.manage.operations import OperationFailed, carry_out, run
from tests.tables.directory_contents import contents


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))


def test_what_the_plan_names_is_written_and_nothing_else(path: Path) -> None:
    before = contents(path)
    operation = IndexCertification(str(path), "merchant_idx", READER)
    plan = operation.plan()
    operation.check(plan)
    assert contents(path) == before
    done = carry_out(operation, plan)
    after = contents(path)
    new = {str(name) for name in after if name not in before}
    named = {change.what for change in plan.changes}
    assert len(named) == len(done) == 2
    assert {name for name in new if name.endswith(".arrow")} == named
    assert {name: after[name] for name in before} == before


def test_other_kinds_are_refused(path: Path) -> None:
    with pytest.raises(HudiError, match="only record and secondary indexes are certified"):
        IndexCertification(str(path), "column_stats", READER).plan()
    with pytest.raises(HudiError, match="no index 'merchant'; is it merchant_idx"):
        IndexCertification(str(path), "merchant", READER).plan()


def test_a_certificate_that_cannot_be_read_is_no_success(path: Path) -> None:
    """As if it was cut while it was written."""

    class Cut(IndexCertification):
        def act(self, plan: CertificationPlan) -> Certified:
            done = super().act(plan)
            for change in plan.changes:
                file = path / change.what
                file.write_bytes(file.read_bytes()[:20])
            return done

    with pytest.raises(OperationFailed, match=r"certificate .* cannot be read; queries count"):
        run(Cut(str(path), "merchant_idx", READER))
