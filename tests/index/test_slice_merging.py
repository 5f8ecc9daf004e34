"""How merging on read affects evidence: which slices are kept, for each way to merge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import Leaf, columns
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.slice_sets import keep_slices
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.properties import SliceMerging, TableProperties, slice_merging

PACKAGE = "org.apache.hudi.common.model."
WHOLE, FIELDS, OPAQUE = SliceMerging.WHOLE_RECORDS, SliceMerging.FIELDS, SliceMerging.OPAQUE
PAYLOAD = "hoodie.compaction.payload.class"
MODE = "hoodie.record.merge.mode"
STRATEGY = "hoodie.record.merge.strategy.id"
OLD_STRATEGY = "hoodie.compaction.record.merger.strategy"
PARTIAL = "hoodie.table.partial.update.mode"
EVENT_TIME = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
COMMIT_TIME = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
CUSTOM = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("version", "properties", "merging"),
    [
        (6, {}, WHOLE),
        (6, {PAYLOAD: f"{PACKAGE}OverwriteWithLatestAvroPayload"}, WHOLE),
        (6, {PAYLOAD: f"{PACKAGE}DefaultHoodieRecordPayload"}, WHOLE),
        (6, {PAYLOAD: f"{PACKAGE}EventTimeAvroPayload"}, WHOLE),
        (6, {PAYLOAD: f"{PACKAGE}DefaultHoodieRecordPayload", OLD_STRATEGY: EVENT_TIME}, WHOLE),
        (6, {PAYLOAD: f"{PACKAGE}PartialUpdateAvroPayload"}, FIELDS),
        (6, {PAYLOAD: f"{PACKAGE}OverwriteNonDefaultsWithLatestAvroPayload"}, FIELDS),
        (6, {PAYLOAD: "com.example.MyPayload"}, OPAQUE),
        (6, {PAYLOAD: f"{PACKAGE}debezium.PostgresDebeziumAvroPayload"}, OPAQUE),
        (6, {OLD_STRATEGY: CUSTOM}, OPAQUE),
        (8, {MODE: "COMMIT_TIME_ORDERING", STRATEGY: COMMIT_TIME}, WHOLE),
        (8, {MODE: "EVENT_TIME_ORDERING", STRATEGY: EVENT_TIME}, WHOLE),
        (8, {MODE: "event_time_ordering"}, WHOLE),
        (8, {MODE: "CUSTOM", PAYLOAD: f"{PACKAGE}PartialUpdateAvroPayload"}, FIELDS),
        (8, {MODE: "CUSTOM", PAYLOAD: "com.example.MyPayload"}, OPAQUE),
        (8, {MODE: "CUSTOM", STRATEGY: CUSTOM}, OPAQUE),
        (8, {MODE: "SOMETHING_NEW"}, OPAQUE),
        (9, {MODE: "COMMIT_TIME_ORDERING", PARTIAL: "IGNORE_DEFAULTS"}, FIELDS),
        (9, {MODE: "EVENT_TIME_ORDERING", PARTIAL: "FILL_UNAVAILABLE"}, FIELDS),
        (9, {MODE: "EVENT_TIME_ORDERING", PARTIAL: "NONE"}, WHOLE),
    ],
)
def test_properties_say_how_records_are_merged(
    version: int, properties: dict[str, str], merging: SliceMerging
) -> None:
    raw = {"hoodie.table.version": str(version), **properties}
    assert slice_merging(TableProperties.parse(raw, "t")) is merging


SCHEMA = pa.schema([("x", pa.int32()), ("y", pa.int32())])


class GivenEvidence:
    """Given evidence: for each column, the files in which a leaf over it may be TRUE."""

    def __init__(self, **may_be: str) -> None:
        self._may_be = {
            name: np.array([letter == "1" for letter in files]) for name, files in may_be.items()
        }

    def may_be(self, leaf: Leaf, truth: bool) -> npt.NDArray[np.bool_]:
        answers = [self._may_be[name] for name in columns(leaf)]
        return np.logical_or.reduce(answers)


def listing(slices: str) -> FileListing:
    """A letter for each file: its slice. A capital letter is a base file."""
    number = np.array([ord(letter.lower()) - ord("a") for letter in slices], np.int32)
    count = int(number.max()) + 1 if len(number) else 0
    part = ListingPart(
        partitions=pa.array([""], pa.string()),
        slice_partition=np.zeros(count, np.int32),
        slice_file_id=pa.array([str(n) for n in range(count)], pa.string()),
        slice_base_instant=pa.array(["1"] * count, pa.string()),
        file_slice=number,
        file_name=pa.array([str(n) for n in range(len(number))], pa.string()),
        file_size=np.ones(len(number), np.int64),
        file_is_log=np.array([letter.islower() for letter in slices], np.bool_),
    )
    return FileListing.of("1", TableView.SNAPSHOT, part)


def kept(predicate: str, slices: str, merging: SliceMerging, evidence: GivenEvidence) -> str:
    bound = bind(parse_predicate(predicate), Scope(SCHEMA))
    flags = keep_slices(bound, [evidence], listing(slices), merging)
    return "".join("1" if flag else "0" for flag in flags)


@pytest.mark.parametrize(
    ("merging", "x_and_y", "x_or_y"),
    [
        # Slices: a base file alone; base and log; base and two logs; a log alone.
        (WHOLE, "0000", "1111"),
        (FIELDS, "0111", "1111"),
        (OPAQUE, "0111", "1111"),
    ],
)
def test_merged_records_come_from_one_file_and_merged_fields_from_several(
    merging: SliceMerging, x_and_y: str, x_or_y: str
) -> None:
    # x may match in base files (and the log alone), y in the last log of each slice.
    evidence = GivenEvidence(x="11010010", y="00101101")
    slices = "ABbCccdd"
    assert kept("x = 1 AND y = 1", slices, merging, evidence) == x_and_y
    assert kept("x = 1 OR y = 1", slices, merging, evidence) == x_or_y


@pytest.mark.parametrize("merging", [WHOLE, FIELDS])
def test_a_slice_none_of_whose_files_may_match_is_excluded(merging: SliceMerging) -> None:
    evidence = GivenEvidence(x="000001", y="111111")
    assert kept("x = 1 AND y = 1", "ABbCcc", merging, evidence) == "001"
    assert kept("x = 1", "ABbCcc", merging, evidence) == "001"


def test_an_unknown_merger_keeps_every_slice_with_logs() -> None:
    evidence = GivenEvidence(x="000", y="000")
    assert kept("x = 1", "ABb", OPAQUE, evidence) == "01"


def test_two_columns_of_one_leaf_may_come_from_two_files() -> None:
    evidence = GivenEvidence(x="000", y="000")
    assert kept("x < y", "ABb", FIELDS, evidence) == "01"
    assert kept("x < y", "ABb", WHOLE, evidence) == "00"


def test_without_log_files_nothing_is_merged() -> None:
    evidence = GivenEvidence(x="01", y="10")
    for merging in SliceMerging:
        assert kept("x = 1 AND y = 1", "AB", merging, evidence) == "00"
        assert kept("x = 1", "AB", merging, evidence) == "01"


def test_a_table_without_slices() -> None:
    assert kept("x = 1", "", WHOLE, GivenEvidence(x="", y="")) == ""
