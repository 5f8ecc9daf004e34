"""Options with which writers keep a table's indexes and update them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.spark import writer_options

_SERVER = "hoodie.embed.timeline.server"


def test_the_indexes_of_a_table_are_switched_on(golden: Mapping[str, Path]) -> None:
    found = writer_options(str(golden["cow_v9_txns_simple_meta"]))
    assert {name for name, value in found.items() if value == "true"} >= {
        "hoodie.metadata.enable",
        "hoodie.metadata.index.column.stats.enable",
        "hoodie.metadata.record.index.enable",
        "hoodie.metadata.index.secondary.enable",
    }
    assert "txn_date" in found["hoodie.metadata.index.column.stats.column.list"]


@pytest.mark.parametrize(
    ("name", "is_needed"),
    [
        ("cow_v9_txns_simple_meta", True),
        ("cow_v9_timebasedkeygen_nonhivestyle", False),
        ("mor_v8_metadata_pending_compaction", False),
    ],
)
def test_the_driver_lists_files_where_secondary_indexes_meet_statistics_of_partitions(
    golden: Mapping[str, Path], name: str, is_needed: bool
) -> None:
    """Otherwise Hudi's tasks fail, see `pyhudi_expr.manage.indexing.writer_options`."""
    assert (writer_options(str(golden[name])).get(_SERVER) == "true") == is_needed
