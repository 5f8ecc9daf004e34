"""Entries of a secondary index after merging its base file and logs (RFC-77)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import SECONDARY_INDEX
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup, StoredFile
from pyhudi_expr.tables.mdt.store.index_records import entries, joined_keys
from pyhudi_expr.tables.storage import Storage
from tests.tables.mdt.file_bytes import log_block

#: Value and record key -> whether the entry is a tombstone.
Written = Mapping[tuple[str | None, str], bool]

_SCHEMA = fastavro.parse_schema(json.loads(RECORD_SCHEMA))


def encoded(deleted: bool) -> bytes:
    target = io.BytesIO()
    record = {
        "key": "",
        "type": SECONDARY_INDEX,
        "filesystemMetadata": None,
        "SecondaryIndexMetadata": {"isDeleted": deleted},
    }
    fastavro.schemaless_writer(target, _SCHEMA, record)
    return target.getvalue()


texts = st.text(st.sampled_from("a$\\\0é"), max_size=4)


@given(st.lists(st.tuples(texts, texts)))
def test_values_and_keys_are_joined_as_each_is(pairs: list[tuple[str, str]]) -> None:
    values, keys = (ByteStrings.of([pair[part].encode() for pair in pairs]) for part in range(2))
    expected = [secondary_key(*pair).encode() for pair in pairs]
    assert joined_keys(values, keys).to_list() == expected


VALUES = {deleted: encoded(deleted) for deleted in (False, True)}


def content(written: Written) -> bytes:
    cells = sorted(
        (secondary_key(*pair).encode(), VALUES[is_tombstone])
        for pair, is_tombstone in written.items()
    )
    sink = io.BytesIO()
    hfile_writer.write(sink, cells, RECORD_SCHEMA)
    return sink.getvalue()


def merged(directory: Path, base: Written, logs: Sequence[Written]) -> list[tuple[str, str]]:
    """The live entries of a file group with these files, sorted."""
    files = [("base.hfile", content(base))]
    files += [(f"log.{n}", log_block(f"{n:03}", content(log))) for n, log in enumerate(logs)]
    for name, data in files:
        (directory / name).write_bytes(data)
    stored = [StoredFile(name, len(data)) for name, data in files]
    group = FileGroup(
        storage=Storage.open(str(directory)),
        base=stored[0],
        logs=tuple((file, f"{n:03}") for n, file in enumerate(stored[1:])),
        valid=frozenset(f"{n:03}" for n in range(len(logs))),
    )
    found = []
    for piece in group.newest(HFile.scan):
        for part in entries(piece):
            pairs = zip(part.values.to_list(), part.keys.to_list(), part.deleted, strict=True)
            found += [
                (value.decode(), key.decode())
                for value, key, is_tombstone in pairs
                if not is_tombstone
            ]
    return sorted(found)


def test_the_example_of_rfc_77(tmp_path: Path) -> None:
    base: Written = {
        ("chennai", "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa"): False,
        ("los-angeles", "9909a8b1-2d15-4d3d-8ec9-efc48c536a01"): False,
        ("los-angeles", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"): False,
        ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df330"): False,
        ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df329"): False,
    }
    log: Written = {
        ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df329"): True,
        ("chennai", "e3cf430c-889d-4015-bc98-59bdce1e530c"): False,
        ("los-angeles", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"): True,
        ("austin", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"): False,
    }
    assert merged(tmp_path, base, [log]) == [
        ("austin", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"),
        ("chennai", "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa"),
        ("chennai", "e3cf430c-889d-4015-bc98-59bdce1e530c"),
        ("los-angeles", "9909a8b1-2d15-4d3d-8ec9-efc48c536a01"),
        ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df330"),
    ]


texts = st.text(st.sampled_from("a$\\é"), max_size=3)
writes = st.dictionaries(st.tuples(st.none() | texts, texts), st.booleans(), max_size=8)


@given(writes, st.lists(writes, max_size=3))
def test_the_newest_record_of_a_pair_wins(
    tmp_path_factory: pytest.TempPathFactory, base: Written, logs: list[Written]
) -> None:
    state: dict[tuple[str | None, str], bool] = {}
    for written in (base, *logs):
        state.update(written)
    expected = sorted(
        ("\0" if value is None else value, key)
        for (value, key), is_tombstone in state.items()
        if not is_tombstone
    )
    assert merged(tmp_path_factory.mktemp("group"), base, logs) == expected


@pytest.mark.parametrize("key", [b"no separator", b"two$of$them", b"\\$escaped only"])
def test_invalid_keys_are_refused(key: bytes) -> None:
    cells = Cells(ByteStrings.of([key]), ByteStrings.of([VALUES[False]]))
    with pytest.raises(CorruptFile, match="file"):
        entries(EncodedRecords("a file", RECORD_SCHEMA, cells))
