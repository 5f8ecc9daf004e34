"""Both implementations for bytes: the compiled kernel and numpy."""

from collections.abc import Iterator

import pytest

from pyhudi_expr.tables.mdt.bytes import kernel
from tests.failure_fixtures import disk, kill_after_changes

__all__ = ["disk", "kill_after_changes"]


@pytest.fixture(scope="module", params=["kernel", "numpy"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a module's tests with and without the compiled kernel."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(kernel, "library", lambda: None)
        elif kernel.library() is None:
            pytest.skip("the kernel was not built: no C compiler")
        yield request.param
