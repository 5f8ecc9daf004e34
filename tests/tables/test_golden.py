"""Tables written by Apache Hudi are listed as Hudi or hudi-rs lists them, at every instant."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.tables.hudi_names import log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.conftest import GOLDEN_DATA
from tests.tables.tables import slices

EXPECTED = sorted(
    file for file in GOLDEN_DATA.glob("expected/*.json") if not file.stem.endswith(".metadata")
)


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda file: file.stem)
def test_file_slices_equal_those_of_the_reference_implementation(
    expected: Path, golden: Mapping[str, Path]
) -> None:
    table = HudiTable.open(str(golden[expected.stem]))
    for instant, expected_slices in json.loads(expected.read_text()).items():
        listing = table.listing(as_of=None if instant == "latest" else instant)
        found = [{**one, "logs": sorted(one["logs"])} for one in slices(listing)]
        assert found == [_as_of(one, instant) for one in expected_slices], instant


def _as_of(expected: dict[str, Any], instant: str) -> dict[str, Any]:
    """Without log files of later writes, which hudi-rs lists, and leaves out when it reads."""
    names = pa.array(expected["logs"], pa.string())
    written = zip(expected["logs"], log_files(names).instant.to_pylist(), strict=True)
    logs = [name for name, time in written if instant == "latest" or time <= instant]
    return {**expected, "logs": logs}


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda file: file.stem)
def test_the_read_optimised_view_lists_only_base_files(
    expected: Path, golden: Mapping[str, Path]
) -> None:
    expected_slices = json.loads(expected.read_text())["latest"]
    listing = HudiTable.open(str(golden[expected.stem])).listing(TableView.READ_OPTIMIZED)
    assert listing.file_name.to_pylist() == [one["base"] for one in expected_slices if one["base"]]
    assert not listing.file_is_log.any()


@pytest.mark.parametrize("name", [file.stem for file in EXPECTED])
def test_the_schema_equals_that_of_the_files(name: str, golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden[name]))
    schema = table.schema()
    listing = table.listing(TableView.READ_OPTIMIZED)
    for number in range(listing.num_files):
        partition = listing.partitions[int(listing.file_partition[number])].as_py()
        file = golden[name] / partition / listing.file_name[number].as_py()
        in_file = pq.read_schema(file)
        assert schema.names == in_file.names
        for field in in_file:
            if not pa.types.is_nested(field.type):
                assert schema.field(field.name).type == field.type, field


def test_a_schema_has_exact_types(golden: Mapping[str, Path]) -> None:
    schema = HudiTable.open(str(golden["mor_v9_txns_simple_meta"])).schema()
    assert schema.field("amount").type == pa.decimal128(15, 2)
    assert schema.field("txn_datetime").type == pa.timestamp("us", tz="UTC")
    assert schema.field("txn_date").type == pa.date32()
    assert schema.names[0] == "_hoodie_commit_time"
