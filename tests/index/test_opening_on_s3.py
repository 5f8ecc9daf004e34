"""A table on S3 that changes while it is opened is opened as it is afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR, PARTITION_MARKER, SCHEMA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.read_ahead import ReadAheadBackend
from tests.stored_files import StoredFiles

pytestmark = pytest.mark.s3

_NEW_INSTANT = ".hoodie/timeline/20990101000000000.commit.requested"
_NEW_SCHEMA = f"{SCHEMA_DIR}/20990101000000000.schemacommit"
_MARKER = f"{METADATA_DIR}/{COLUMN_STATS}/{PARTITION_MARKER}"


@pytest.fixture
def table(golden: Mapping[str, Path], s3_bucket: str, s3_env: object) -> Storage:
    storage = Storage.open(f"s3://{s3_bucket}/table")
    StoredFiles.of_directory(golden["cow_v9_txns_simple_meta"]).restore(storage)
    return storage


def changed_once(
    change: Callable[[], None], refreshed: Callable[..., HudiTable]
) -> Callable[..., HudiTable]:
    """Return `HudiTable.refreshed`, before whose first call the table changes.

    All announced requests have been answered by then: their results are older than the change.
    """
    pending = [change]

    def after_change(self: HudiTable, *arguments: Any) -> HudiTable:
        if pending:
            backend = self.storage.backend
            assert isinstance(backend, ReadAheadBackend)
            for sent in list(backend._sent.values()):
                sent.exception(20)
            # The state is read after the change, as if its requests had been the slowest.
            state = self.state_reads
            for key in [("file", self.storage.full(path)) for path in state.files] + [
                ("list", self.storage.full(path)) for path in state.directories
            ]:
                backend._sent.pop(key, None)
            pending.pop()()
        return refreshed(self, *arguments)

    return after_change


def test_what_was_announced_before_a_change_is_read_again(
    table: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = b"commitTime=20990101000000000\npartitionDepth=1\n"

    def change() -> None:
        table.write(_NEW_SCHEMA, b'{"schemas": []}')
        table.write(_MARKER, marker)
        table.write(_NEW_INSTANT, b"")

    monkeypatch.setattr(HudiTable, "refreshed", changed_once(change, HudiTable.refreshed))
    snapshot = Pruner().open(table.uri)
    assert "20990101000000000" in snapshot.table.timeline.pending
    assert snapshot.is_evolved
    assert snapshot.table.storage.read(_MARKER) == marker
