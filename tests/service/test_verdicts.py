"""Verdicts state exactly what was proved, about the listing that was evaluated, and are small."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.row_counts import RowCount
from pyhudi_expr.protocol.generated.ttypes import (
    PartitionVerdict,
    PruneResponse,
    PruneStatus,
    VerdictKind,
)
from pyhudi_expr.service.answers.encoding import counts, verdicts
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView

Files = dict[Any, list[list[str]]]


def result(slices: list[tuple[int, list[str]]], partitions: int, keep, partition_keep):
    """Slices as (partition, file names); the name of a log file starts with a dot."""
    names = [name for _, files in slices for name in files]
    part = ListingPart(
        partitions=pa.array([f"p={index:05}" for index in range(partitions)], pa.string()),
        slice_partition=np.array([partition for partition, _ in slices], np.int32),
        slice_file_id=pa.array([files[0] for _, files in slices], pa.string()),
        slice_base_instant=pa.array(["1"] * len(slices), pa.string()),
        file_slice=np.repeat(np.arange(len(slices)), [len(files) for _, files in slices]).astype(
            np.int32
        ),
        file_name=pa.array(names, pa.string()),
        file_size=np.arange(len(names), dtype=np.int64) + 10,
        file_is_log=np.array([name.startswith(".") for name in names], np.bool_),
    )
    return PruneResult(
        listing=FileListing.of("20260101000000000", TableView.SNAPSHOT, part),
        keep=np.array(keep, np.bool_),
        partition_keep=np.array(partition_keep, np.bool_),
        predicate=ALWAYS,
        columns=(),
        unknown=(),
        notes=(),
        evidence=[],
    )


def listed(evaluated: PruneResult) -> Files:
    """The tokens of each slice of each partition, as a client lists them."""
    listing = evaluated.listing
    found: Files = {path: [] for path in listing.partitions.to_pylist()}
    tokens = listing.tokens.to_pylist()
    for number, partition in enumerate(listing.slice_partition):
        files = [tokens[i] for i in np.flatnonzero(listing.file_slice == number)]
        found[listing.partitions[int(partition)].as_py()].append(files)
    return found


def digest(slices: list[list[str]]) -> bytes:
    tokens = sorted(token.encode() for files in slices for token in files)
    return hashlib.sha256(b"".join(token + b"\n" for token in tokens)).digest()


def kept(answer: list[PartitionVerdict], files: Files) -> Files:
    """The slices that a client reads, by the rules of the protocol."""
    by_path = {verdict.partitionPath: verdict for verdict in answer}
    assert len(by_path) == len(answer)
    return {path: _kept(by_path.get(path), slices) for path, slices in files.items()}


def _kept(verdict: PartitionVerdict | None, slices: list[list[str]]) -> list[list[str]]:
    if verdict is None:
        return slices
    same = verdict.digest == digest(slices)
    tokens = set(verdict.tokens or ())
    match verdict.kind:
        case VerdictKind.DROP_PARTITION:
            return []
        case VerdictKind.DROP_LISTED:
            return [] if same else slices
        case VerdictKind.DROP_TOKENS:
            return [files for files in slices if not tokens.issuperset(files)]
        case VerdictKind.KEEP_TOKENS if same:
            return [files for files in slices if tokens.intersection(files)]
    return slices


@st.composite
def results(draw) -> PruneResult:
    partitions = draw(st.integers(1, 4))
    slices: list[tuple[int, list[str]]] = []
    for partition in range(partitions):
        for number in range(draw(st.integers(1, 8))):
            stem = f"{'é' * draw(st.integers(0, 30))}{partition}-{number}"
            logs = [f".{stem}.log.{version}" for version in range(draw(st.integers(0, 2)))]
            base = draw(st.booleans()) or not logs
            slices.append((partition, ([stem] if base else []) + logs))
    by_values = draw(st.lists(st.booleans(), min_size=partitions, max_size=partitions))
    keep = [draw(st.booleans()) and by_values[partition] for partition, _ in slices]
    return result(slices, partitions, keep, by_values)


@given(results())
def test_applied_to_the_evaluated_listing_verdicts_keep_exactly_the_kept_slices(evaluated):
    files = listed(evaluated)
    expected: Files = {path: [] for path in files}
    in_order = iter(evaluated.keep.tolist())
    for path, slices in files.items():
        expected[path] = [one for one in slices if next(in_order)]
    assert kept(verdicts(evaluated), files) == expected


@given(results(), st.integers(0, 3), st.booleans())
def test_files_that_were_not_evaluated_are_kept(evaluated, partition, is_log):
    files = listed(evaluated)
    path = list(files)[partition % len(files)]
    if not evaluated.partition_keep[partition % len(files)]:
        return  # whatever files it has
    if is_log:
        files[path][0] = [*files[path][0], ".new.log.9@5"]
        new = files[path][0]
    else:
        new = ["new"]
        files[path] = [*files[path], new]
    assert new in kept(verdicts(evaluated), files)[path]


@given(results())
def test_counts_equal_those_of_the_result(evaluated):
    found = counts(evaluated, 7, RowCount(3, exact=True))
    assert found.filesConsidered == evaluated.files_total
    assert found.filesDropped == evaluated.files_total - evaluated.files_kept
    assert found.bytesConsidered == evaluated.bytes_total
    assert found.bytesDropped == evaluated.bytes_total - evaluated.bytes_kept
    touched = set(evaluated.listing.slice_partition[evaluated.keep].tolist())
    assert found.partitionsDropped == found.partitionsConsidered - len(touched)
    assert found.elapsedMicros == 7


def test_an_empty_table_has_no_verdicts():
    empty = result([], 0, [], [])
    assert verdicts(empty) == []
    assert counts(empty, 1, None).filesConsidered == 0


def test_the_shorter_verdict_is_chosen():
    def kinds(keep: list[bool]) -> list[int]:
        slices = [(0, [f"{'x' * 70}{number:03}"]) for number in range(len(keep))]
        return [verdict.kind for verdict in verdicts(result(slices, 1, keep, [True]))]

    assert kinds([True] * 100) == []
    assert kinds([False] * 100) == [VerdictKind.DROP_LISTED]
    assert kinds([False] + [True] * 99) == [VerdictKind.DROP_TOKENS]
    assert kinds([True] + [False] * 99) == [VerdictKind.KEEP_TOKENS]


@pytest.mark.slow
def test_a_hundred_thousand_files_fit_in_five_megabytes():
    size, per_partition = 100_000, 100
    name = "0a1b2c3d-4e5f-6789-abcd-ef0123456789-0_12-345-67890_20260101000000000"
    slices = [
        (number // per_partition, [f"{number:06}{name[6:]}.parquet"]) for number in range(size)
    ]
    # The worst case: half of the files of each partition.
    keep = np.arange(size) % 2 == 0
    evaluated = result(slices, size // per_partition, keep, [True] * (size // per_partition))
    response = PruneResponse(
        protocolVersion=1,
        requestId="1",
        basePath="/t",
        status=PruneStatus.OK,
        verdicts=verdicts(evaluated),
    )
    buffer = TMemoryBuffer()
    response.write(TBinaryProtocolAccelerated(buffer))
    assert len(buffer.getvalue()) <= 5_000_000
