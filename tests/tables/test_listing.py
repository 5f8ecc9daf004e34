"""Tokens and digests as the protocol defines them."""

import hashlib
from pathlib import Path

import pytest

from tests.tables.tables import TinyTable


@pytest.fixture
def table(tmp_path: Path) -> TinyTable:
    table = TinyTable.create(tmp_path / "t")
    table.complete("001", "002")
    table.complete("003", "004")
    return table


def test_a_log_files_token_ends_with_its_length(table: TinyTable) -> None:
    base, log = table.base("f", "001"), table.log("f", "003")
    listing = table.open().listing()
    assert listing.tokens.to_pylist() == [base, f"{log}@7"]


def test_a_digest_is_over_the_partitions_tokens_in_byte_order(table: TinyTable) -> None:
    names = [table.base(file_id, "001") for file_id in ("\U0001f600", "\ufffd", "b", "B")]
    log = table.log("b", "003")
    other = table.base("z", "001", partition="z")
    listing = table.open().listing()
    assert listing.partitions.to_pylist() == ["a", "z"]
    tokens = sorted(token.encode() for token in (*names, f"{log}@7"))
    assert listing.digest(0) == hashlib.sha256(b"".join(t + b"\n" for t in tokens)).digest()
    assert listing.digest(1) == hashlib.sha256(f"{other}\n".encode()).digest()
    assert listing.partition_file_bounds.tolist() == [0, 5, 6]


def test_arrays_cannot_be_changed(table: TinyTable) -> None:
    table.base("f", "001")
    listing = table.open().listing()
    with pytest.raises(ValueError, match="read-only"):
        listing.file_size[0] = 0
