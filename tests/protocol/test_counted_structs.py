"""A message's structs are counted while it is decoded, in whatever lists and maps they are."""

from __future__ import annotations

import tracemalloc

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.protocol.counted_structs import TooManyStructsError, counting_protocol
from pyhudi_expr.protocol.generated import PruningService
from pyhudi_expr.protocol.generated.ttypes import (
    FirstRows,
    Keys,
    Literal,
    Node,
    PruneRequest,
    Semantics,
    SparkCondition,
    Zone,
)

MOST = 1000


def written(**fields: object) -> bytes:
    """Return the arguments of a call, as a message has them behind its name."""
    target = TMemoryBuffer()
    request = PruneRequest(1, "1", "/t", fields.pop("filter", []), 1, **fields)
    PruningService.prune_args(request).write(TBinaryProtocolAccelerated(target))
    return bytes(target.getvalue())


def read(message: bytes) -> PruneRequest:
    arguments = PruningService.prune_args()
    arguments.read(counting_protocol(message, MOST, MOST))
    return arguments.request


def test_a_message_is_decoded_as_thrift_decodes_it() -> None:
    fields = {
        "filter": [
            Node(1, children=[1], path=["a", "b"], literal=Literal("int", integerValue=3)),
            Node(9, text="x", keys=Keys("int", 2, starts=b"\0\1", ends=b"\2\3")),
        ],
        "semantics": Semantics("hive", "4", [Zone("UTC", b"r"), Zone("CET")], settings={"a": "b"}),
        "sparkCondition": SparkCondition(
            "[]",
            constants={1: Literal("date", epochDays=9)},
            sets={2: [Literal("string", stringValue="é")] * 2, 3: []},
            tried=[1, 2],
        ),
        "firstRows": FirstRows(7, ["a"]),
        "firstRowsOfEach": [FirstRows(1), FirstRows(2, descending=True)],
        "describeMatching": ["a"],
    }
    message, plain = written(**fields), PruningService.prune_args()
    plain.read(TBinaryProtocolAccelerated(TMemoryBuffer(message)))
    assert repr(plain.request) == repr(
        PruneRequest(1, "1", "/t", fields.pop("filter"), 1, **fields)
    )
    found = read(message)
    again = TMemoryBuffer()
    PruningService.prune_args(found).write(TBinaryProtocolAccelerated(again))
    assert again.getvalue() == message
    assert found.filter[0].keys is None
    assert found.filter[0].literal.integerValue == 3
    assert found.sparkCondition.sets[2][1].stringValue == "é"
    assert isinstance(found.semantics.zones[0], Zone)


HALF = MOST // 2 + 1


@pytest.mark.parametrize(
    "fields",
    [
        {"filter": [Node(9)] * HALF, "firstRowsOfEach": [FirstRows(1)] * HALF},
        {"semantics": Semantics(zones=[Zone("UTC")] * (MOST + 1))},
        {"sparkCondition": SparkCondition("", sets=dict.fromkeys(range(MOST), [Literal("a")] * 2))},
        {
            "sparkCondition": SparkCondition("", dict.fromkeys(range(HALF), Literal("a"))),
            "semantics": Semantics(zones=[Zone("UTC")] * HALF),
        },
    ],
    ids=["lists", "list", "map of lists", "map and list"],
)
def test_all_structs_of_lists_and_maps_have_one_limit(fields: dict[str, object]) -> None:
    message = written(**fields)
    with pytest.raises((TooManyStructsError, OverflowError)):
        read(message)


def test_each_message_has_the_whole_limit() -> None:
    message = written(filter=[Node(9)] * MOST)
    for _ in range(3):
        assert len(read(message).filter) == MOST


def test_a_message_of_empty_structs_does_not_take_their_memory() -> None:
    sets = {number: [Literal("")] * MOST for number in range(500)}
    message = written(sparkCondition=SparkCondition("", sets=sets))
    assert len(message) > 3_000_000
    tracemalloc.start()
    try:
        with pytest.raises((TooManyStructsError, OverflowError)):
            read(message)
        assert tracemalloc.get_traced_memory()[1] < MOST * 1000 + 100_000
    finally:
        tracemalloc.stop()
