"""The service lists the kept slices as they are, and says by which state of the timeline."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.runtime import ROOT
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import KeptSlices
from pyhudi_expr.service.answers import encoding as module
from pyhudi_expr.service.answers.encoding import kept_slices
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.timeline import Timeline
from tests.service.test_verdicts import result

NO_INSTANTS = Timeline(())
Slice = tuple[str, str, str, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]


def slices(kept: KeptSlices) -> list[Slice]:
    """Partition, file id, base instant, base and log files of each slice, as a client reads."""
    partitions = [
        path
        for path, count in zip(kept.partitions, kept.partitionSlices, strict=True)
        for _ in range(count)
    ]
    files = iter(zip(kept.fileNames, kept.fileSizes, strict=True))
    found = []
    for partition, file_id, instant, has_base, logs in zip(
        partitions,
        kept.fileIds,
        kept.baseInstants,
        kept.haveBaseFile,
        kept.logFiles,
        strict=True,
    ):
        base = tuple(next(files) for _ in range(int(has_base)))
        found.append((partition, file_id, instant, base, tuple(next(files) for _ in range(logs))))
    assert next(files, None) is None
    return found


@given(st.data())
def test_every_kept_slice_is_listed_with_its_files(data):
    shapes = st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2)).filter(
        lambda shape: shape[1] or shape[2]
    )
    drawn = sorted(data.draw(st.lists(shapes, max_size=8)), key=lambda shape: shape[0])
    used = sorted({partition for partition, _, _ in drawn})
    given_slices = [
        (
            used.index(partition),
            [f"f{number}.parquet"] * has_base + [f".f{number}.log.{i}" for i in range(logs)],
        )
        for number, (partition, has_base, logs) in enumerate(drawn)
    ]
    keep = data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn)))
    evaluated = result(given_slices, len(used), keep, [True] * len(used))
    sizes = dict(
        zip(
            evaluated.listing.file_name.to_pylist(),
            evaluated.listing.file_size.tolist(),
            strict=True,
        )
    )
    expected = [
        (
            f"p={partition:05}",
            files[0],
            "1",
            tuple((name, sizes[name]) for name in files if not name.startswith(".")),
            tuple((name, sizes[name]) for name in files if name.startswith(".")),
        )
        for (partition, files), kept in zip(given_slices, keep, strict=True)
        if kept
    ]
    assert slices(kept_slices(evaluated, NO_INSTANTS)) == expected


def test_too_many_files_are_not_listed(monkeypatch):
    evaluated = result([(0, ["a.parquet"]), (0, ["b.parquet"])], 1, [True, True], [True])
    monkeypatch.setattr(module, "MOST_FILES", 2)
    assert len(kept_slices(evaluated, NO_INSTANTS).fileNames) == 2
    monkeypatch.setattr(module, "MOST_FILES", 1)
    assert kept_slices(evaluated, NO_INSTANTS) is None


@pytest.mark.parametrize("view", list(TableView))
@pytest.mark.parametrize("name", ["mor_v9_txns_simple_meta", "mor_v8_metadata_pending_compaction"])
def test_a_client_that_asks_is_told_the_kept_files(
    client: PruningClient, golden: Mapping[str, Path], name: str, view: TableView
):
    table = str(golden[name])
    predicate = parse_predicate("_hoodie_record_key IS NOT NULL")
    request = ttypes.PruneRequest(
        protocolVersion=PROTOCOL_VERSION,
        requestId="1",
        basePath=table,
        filter=encode(predicate),
        view=ttypes.TableView._NAMES_TO_VALUES[view.name],
    )
    assert client.send(request).kept is None
    request.listKept = True
    kept = client.send(request).kept
    expected = Pruner().prune(table, PruneRequest(predicate, view))
    names = [path.rpartition("/")[2] for path in expected.kept_paths()]
    assert kept.fileNames == names
    assert names
    assert kept.timelineDigest == HudiTable.open(table).timeline.digest


def timeline(*names: str) -> Timeline:
    return Timeline.of(names)


def test_the_digest_is_of_the_latest_state_of_each_instant():
    found = timeline("002.commit.requested", "001_003.commit", "001.commit.requested")
    lines = b"001.commit.COMPLETED\n002.commit.REQUESTED\n"
    assert found.digest == hashlib.sha256(lines).digest()


def test_the_digest_is_the_storage_handlers():
    """Its `ServiceListingTest` computes the same of these names of files, by Hudi's timeline."""
    file = ROOT / "handler-java/src/test/resources/timeline-of-all-actions.txt"
    expected, *names = file.read_text().splitlines()
    assert timeline(*names).digest.hex() == expected


@pytest.mark.parametrize(
    "names",
    [
        ("001_003.commit",),
        ("001_003.commit", "002.inflight"),
        ("001_003.commit", "002_004.commit"),
        ("001_003.commit", "002.deltacommit.requested"),
        ("001_003.commit", "002.commit.requested", "005.commit.requested"),
    ],
)
def test_another_state_has_another_digest(names):
    found = timeline("001_003.commit", "002.commit.requested")
    assert timeline(*names).digest != found.digest
