"""Indexes of keys and values whose entries are looked up one by one, however small they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyhudi_expr.index.lookups import record_index, secondary_index


@contextmanager
def looked_up_directly() -> Iterator[None]:
    """No index is read into memory. Certificates stay in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (record_index, secondary_index):
            patch.setattr(module, "IN_MEMORY_BYTES", 0)
        yield
