"""Keys of tables that Hudi wrote without meta fields, read slice by slice. No Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.spark.slice_keys import keys_of_rows


@pytest.mark.parametrize("version", [6, 8])
def test_golden_tables_without_meta_fields(golden: Mapping[str, Path], version: int) -> None:
    path = golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"]
    assert keys_of_rows(str(path)) == ["1", "2", "3", "4"]
