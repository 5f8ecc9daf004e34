"""What is read of a request before it is decoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.handler import RefusingHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.network.frames import head_of, process_frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


def frame_of(call: str, request: object) -> bytes:
    buffer = TMemoryBuffer()
    client = PruningService.Client(TBinaryProtocolAccelerated(buffer))
    getattr(client, f"send_{call}")(request)
    return buffer.getvalue()


@given(TEXTS, TEXTS, st.integers(0, 5), TEXTS)
def test_a_refusal_without_the_filter_names_the_request_and_its_table(
    number: str, table: str, nodes: int, zone: str
) -> None:
    filter_ = [ttypes.Node(1)] * nodes
    semantics = ttypes.Semantics(zone=zone)
    frames = {
        "prune": frame_of("prune", ttypes.PruneRequest(1, number, table, filter_, 1, semantics)),
        "metadata": frame_of(
            "metadata", ttypes.MetadataRequest(1, number, table, "files", filter_, semantics)
        ),
    }
    processor = PruningService.Processor(RefusingHandler("busy", "too many", Metrics()))
    for call, frame in frames.items():
        head = head_of(frame)
        assert head.table == table.encode()
        assert head.nodes == nodes
        assert head.without_filter is not None
        reply = process_frame(head.without_filter, processor)
        buffer = TMemoryBuffer(reply)
        client = PruningService.Client(TBinaryProtocolAccelerated(buffer))
        response = getattr(client, f"recv_{call}")()
        assert (response.requestId, response.basePath) == (number, table)
        if table:
            assert response.status in (PruneStatus.NOT_PRUNED, PruneStatus.FAILED)
            assert response.message == "too many"


@pytest.mark.parametrize("call", ["prune", "announce"])
def test_an_announcement_is_known_by_its_method(call: str) -> None:
    request = ttypes.PruneRequest(1, "id", "/table", [ttypes.Node(1)], 1)
    head = head_of(frame_of(call, request))
    assert head.table == b"/table"
    assert head.is_announcement == (call == "announce")


@given(st.binary(max_size=300))
def test_any_bytes_have_a_head(frame: bytes) -> None:
    assert head_of(frame).memory >= len(frame)


@pytest.mark.parametrize("cut", [3, 20, 35])
def test_a_request_that_is_cut_off_has_no_table(cut: int) -> None:
    frame = frame_of("prune", ttypes.PruneRequest(1, "1", "/t", [], 1))[:cut]
    assert head_of(frame).table == b""


def test_memory_follows_from_the_nodes_and_the_bytes() -> None:
    few = head_of(frame_of("prune", ttypes.PruneRequest(1, "1", "/t", [ttypes.Node()] * 10, 1)))
    many = head_of(
        frame_of("prune", ttypes.PruneRequest(1, "1", "/t", [ttypes.Node()] * 10_000, 1))
    )
    assert few.memory < 10_000
    assert many.memory > 5_000_000
