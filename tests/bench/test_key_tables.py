"""Synthetic tables with key indexes: the entries of each row name its file, in every shard."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from bench.tables.key_tables import SECONDARY_INDEX, add_key_indexes
from bench.tables.synthetic import ROWS_PER_FILE, write_table
from pyhudi_expr.expr.nodes import Column, In, Literal
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.hudi_names import RECORD_INDEX

FILES = 6


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "t"
    write_table(path, files=FILES, partitions=2)
    add_key_indexes(path)
    return path


@pytest.mark.parametrize(("column", "index"), [("id", RECORD_INDEX), ("spread", SECONDARY_INDEX)])
def test_values_of_two_files_keep_two_files(
    path: Path, tmp_path: Path, column: str, index: str
) -> None:
    # Values of the first and the last file, so that no range excludes those between.
    values = (7, 123, (FILES - 1) * ROWS_PER_FILE + 999)
    asked = PruneRequest(In(Column((column,)), tuple(Literal(v, pa.int64()) for v in values)))
    for _ in range(2):  # the second time from the cache
        result = Pruner(PruneOptions(snapshot_dir=tmp_path)).prune(str(path), asked)
        assert (result.files_kept, result.notes) == (2, ())
        # The index alone excludes every file except those two.
        (answer,) = (each for each in result.explain().answers if each.index == index)
        assert answer.files == FILES - 2
    assert len(list(tmp_path.glob("*.arrow"))) >= 10
    every = tuple(Literal(value, pa.int64()) for value in range(FILES * ROWS_PER_FILE))
    asked = PruneRequest(In(Column((column,)), every))
    assert Pruner().prune(str(path), asked).files_kept == FILES
