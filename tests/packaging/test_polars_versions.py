"""Lazy frames with the oldest Polars that has sources, and one that adds conditions of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.packaging.installing import PYTHON, ROOT, run

pytestmark = pytest.mark.long

_TESTS = ROOT / "tests" / "api" / "test_polars.py"


@pytest.mark.parametrize("version", ["1.22.0", "1.40.0"])
def test_older_versions_find_the_same_rows(version: str, tmp_path: Path) -> None:
    """1.40 hands `dynamic_pred` to sources, which only Polars can evaluate."""
    packages = [f"polars=={version}"]
    if version >= "1.36":
        packages.append(f"polars-runtime-32=={version}")
    run(
        *(PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "polars", *packages),
        cwd=tmp_path,
    )
    path = os.pathsep.join((str(tmp_path / "polars"), str(ROOT)))
    output = run(
        *(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", _TESTS),
        *("-W", "ignore::DeprecationWarning"),
        cwd=ROOT,
        given={"PYTHONPATH": path},
    )
    assert " passed" in output
