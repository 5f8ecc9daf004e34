"""Instants by their file names."""

import pytest

from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.timeline import CommitMetadata, State, Timeline, query_instant


def timeline(*names: str) -> Timeline:
    return Timeline.of(names)


@pytest.mark.parametrize(
    ("name", "requested", "action", "state", "completed"),
    [
        ("001.commit", "001", "commit", State.COMPLETED, None),
        ("001.inflight", "001", "commit", State.INFLIGHT, None),
        ("001.commit.requested", "001", "commit", State.REQUESTED, None),
        ("001.deltacommit.inflight", "001", "deltacommit", State.INFLIGHT, None),
        ("001_002.deltacommit", "001", "deltacommit", State.COMPLETED, "002"),
        ("001_002.replacecommit", "001", "replacecommit", State.COMPLETED, "002"),
        ("001.clustering.requested", "001", "clustering", State.REQUESTED, None),
        ("001.compaction.requested", "001", "compaction", State.REQUESTED, None),
    ],
)
def test_an_instant_is_parsed_from_its_file_name(
    name: str, requested: str, action: str, state: State, completed: str | None
) -> None:
    (instant,) = timeline(name).instants
    assert (instant.requested, instant.action) == (requested, action)
    assert (instant.state, instant.completed) == (state, completed)


@pytest.mark.parametrize(
    "name", ["hoodie.properties", "history", "001.commit.crc", ".001.commit", "001", "001.other"]
)
def test_other_files_are_not_instants(name: str) -> None:
    assert timeline(name).instants == ()


def test_an_instant_has_its_latest_state() -> None:
    found = timeline("001.commit.requested", "001.inflight", "001_002.commit").instants
    assert [(i.state, i.completed) for i in found] == [(State.COMPLETED, "002")]


@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        ("compaction", "commit"),
        ("logcompaction", "deltacommit"),
        ("clustering", "replacecommit"),
    ],
)
def test_table_services_complete_under_another_name(pending: str, completed: str) -> None:
    done = timeline(f"001.{pending}.requested", f"001.{pending}.inflight", f"001_002.{completed}")
    assert [i.requested for i in done.writes] == ["001"]
    assert not done.pending
    assert not done.pending_compactions


def test_a_savepoint_is_distinct_from_its_commit() -> None:
    both = timeline("001_002.commit", "001_003.savepoint")
    assert [i.requested for i in both.writes] == ["001"]


def test_rolled_back_and_unfinished_instants_are_not_committed() -> None:
    found = timeline("001_002.commit", "003.inflight", "004_005.rollback", "006_007.commit")
    assert found.is_committed("000")
    assert found.is_committed("001")
    assert not found.is_committed("002")
    assert not found.is_committed("003")
    assert not found.is_committed("004")
    assert found.is_committed("006")
    assert not found.is_committed("008")


def test_time_travel_uses_the_requested_time() -> None:
    found = timeline("001_009.commit", "003_004.commit")
    assert [i.requested for i in found.as_of("002").writes] == ["001"]


def test_nothing_is_committed_in_an_empty_timeline() -> None:
    assert not timeline().is_committed("001")


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("20240131", "20240131000000000"),
        ("001", "001"),
        (" 20240131235959123 ", "20240131235959123"),
        ("2024-01-31", "20240131000000000"),
        ("2024-01-31 23:59", "20240131235900000"),
        ("2024-01-31T23:59:58", "20240131235958000"),
        ("2024-01-31 23:59:58.123", "20240131235958123"),
    ],
)
def test_instants_are_given_as_digits_or_dates(text: str, digits: str) -> None:
    assert query_instant(text) == digits


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2024-01", "2024-1-31", "20240131235959123456"),
        *("2024-02-30", "2024-13-01", "2024-01-31 24:61"),
    ],
)
def test_invalid_instants_are_refused(text: str) -> None:
    with pytest.raises(HudiError, match=f"'{text}' is not an instant"):
        query_instant(text)


@pytest.mark.parametrize(
    "content",
    [
        '{"extraMetadata": [1]}',
        '{"extraMetadata": {"schema": 3}}',
        '{"operationType": {}}',
        '{"partitionToWriteStats": [1]}',
        '{"partitionToWriteStats": {"p": 3}}',
        '{"partitionToWriteStats": {"p": [{"path": 3}]}}',
        '{"partitionToReplaceFileIds": {"p": [3]}}',
    ],
)
def test_fields_of_other_types_are_no_commit(content: str) -> None:
    with pytest.raises(CorruptFile, match=r"001\.commit: not the metadata of a commit"):
        CommitMetadata.parse(content.encode(), "001.commit")
