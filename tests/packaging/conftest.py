"""The wheel, built once."""

from pathlib import Path

import pytest

from tests.packaging.installing import PYTHON, ROOT, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    run(PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", target, ROOT, cwd=target)
    return next(target.glob("*.whl"))
