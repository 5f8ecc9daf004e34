"""Packed keys of the protocol: how they are decoded, and which are refused."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.Thrift import TType
from thrift.TSerialization import deserialize, serialize

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, Limits, decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.ttypes import Keys, Node, NodeKind
from tests.example_counts import examples

X = e.Column(("x",), pa.int32())
MANY = 100_000


def packed(*numbers: int) -> bytes:
    return np.array(numbers, "<i8").tobytes()


def node(keys: Keys, **fields: Any) -> Node:
    return Node(kind=NodeKind.UNKNOWN, text="x IN", keys=keys, **{"path": ["x"], **fields})


def decoded(keys: Keys, limits: Limits | None = None) -> Any:
    return decode([node(keys)], limits)


def values(found: Any) -> list[Any]:
    assert isinstance(found, e.InKeys), found
    assert found.keys.are_values
    return found.keys.python_ends()[0]


ARRAYS = {
    "tinyint": pa.array([-128, 5, 127], pa.int8()),
    "smallint": pa.array([-7, 0], pa.int16()),
    "int": pa.array([3, 1, 2, 1, -(2**31)], pa.int32()),
    "bigint": pa.array([2**63 - 1, -(2**63)], pa.int64()),
    "date": pa.array([-1, 20_000], pa.int32()).view(pa.date32()),
    "timestamp": pa.array([1, -1, 10**18], pa.timestamp("ns")),
    "string": pa.array(["b", "", "é", "\U0001f600", "\uff5e"]),
}


@pytest.mark.parametrize("has_null", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_keys_come_back_as_they_were_sent(name: str, has_null: bool) -> None:
    sent = e.InKeys(X, KeyList.of(ARRAYS[name]), has_null)
    (encoded,) = encode(sent)
    assert (encoded.keys.type, encoded.keys.count) == (name, sent.keys.count)
    wire = serialize(encoded, TBinaryProtocolAcceleratedFactory())
    back = deserialize(Node(), wire, TBinaryProtocolAcceleratedFactory())
    assert decode([back]) == sent


def test_times_of_a_coarser_unit_are_sent_in_nanoseconds() -> None:
    sent = KeyList.of(pa.array([-1, 5], pa.timestamp("us")))
    assert values(decode(encode(e.InKeys(X, sent)))) == [-1000, 5000]


def test_ranges_with_keys_alone_are_these_keys() -> None:
    keys = Keys(type="int", count=5, starts=packed(1, 7), ends=packed(3, 8))
    assert values(decoded(keys)) == [1, 2, 3, 7, 8]


def test_ranges_with_other_values_stay_ranges() -> None:
    keys = Keys(type="int", count=4, starts=packed(1, 7), ends=packed(3, 8))
    found = decoded(keys).keys
    assert found.python_ends() == ([1, 7], [3, 8])
    assert not found.are_values
    everything = Keys(type="bigint", count=2, starts=packed(-(2**63)), ends=packed(2**63 - 1))
    assert not decoded(everything).keys.are_values


@pytest.mark.parametrize(
    "keys",
    [
        Keys(type="int", count=1),
        Keys(type="int", starts=packed(1)),
        Keys(count=1, starts=packed(1)),
        Keys(type="int", count=1, starts=b"1234567"),
        Keys(type="int", count=1, starts=packed(2, 1)),
        Keys(type="int", count=1, starts=packed(1, 2)),
        Keys(type="int", count=2, starts=packed(1, 1)),
        Keys(type="int", count=3, starts=packed(1), ends=packed(2, 3)),
        Keys(type="int", count=2, starts=packed(2), ends=packed(1)),
        Keys(type="int", count=4, starts=packed(1, 3), ends=packed(3, 4)),
        Keys(type="int", count=1, starts=packed(2**31)),
        Keys(type="tinyint", count=1, starts=packed(-129)),
        Keys(type="string", count=1, textEnds=packed(0)),
        Keys(type="string", count=1, texts=b"a", textEnds=packed(2)),
        Keys(type="string", count=1, texts=b"ab", textEnds=packed(1)),
        Keys(type="string", count=2, texts=b"ab", textEnds=packed(3, 2)),
        Keys(type="string", count=2, texts=b"ba", textEnds=packed(1, 2)),
        Keys(type="string", count=2, texts=b"aa", textEnds=packed(1, 2)),
        Keys(type="string", count=1, texts=b"\xff", textEnds=packed(1)),
        Keys(type="string", count=2, texts="é".encode(), textEnds=packed(1, 2)),
        Keys(type="string", count=0, texts=b"", textEnds=packed(0)),
    ],
    ids=repr,
)
def test_other_keys_violate_the_protocol(keys: Keys) -> None:
    with pytest.raises(BadRequestError):
        decoded(keys)


@pytest.mark.parametrize(
    "keys",
    [
        Keys(type="double", count=1, starts=packed(1)),
        Keys(type="char(3)", count=1, starts=packed(1)),
        Keys(type="array<int>", count=1, starts=packed(1)),
        Keys(type="timestamp", count=1, starts=packed(2**63 - 1)),
        Keys(type="string", count=1, texts="a\ufffd".encode(), textEnds=packed(4)),
    ],
    ids=repr,
)
def test_keys_that_expressions_lack_are_unknown(keys: Keys) -> None:
    assert isinstance(decoded(keys), e.Unknown)


def test_limits_hold_for_keys() -> None:
    few = Limits(keys=2, literal_bytes=3)
    assert values(decoded(Keys(type="int", count=2, starts=packed(1, 3)), few)) == [1, 3]
    with pytest.raises(BadRequestError, match="2 are allowed"):
        decoded(Keys(type="int", count=3, starts=packed(1, 3, 5)), few)
    with pytest.raises(BadRequestError, match="3 are allowed"):
        decoded(Keys(type="string", count=1, texts=b"long", textEnds=packed(4)), few)
    # A range of more keys than are allowed is not taken apart.
    wide = decoded(Keys(type="bigint", count=10**12, starts=packed(1), ends=packed(10**12)), few)
    assert wide.keys.python_ends() == ([1], [10**12])


def test_keys_count_as_nodes_as_often_as_they_are_used() -> None:
    """Few bytes stand for a million keys, and each use of them takes memory when it is bound."""
    all_of_them = Keys(type="int", count=1_000_000, starts=packed(1), ends=packed(1_000_000))
    uses = [Node(kind=NodeKind.AND, children=[0, 0, 0]), Node(kind=NodeKind.NOT, children=[1])]
    assert isinstance(decode([node(all_of_them), *uses]), e.Not)
    more = [Node(kind=NodeKind.AND, children=[0] * 4), *uses[1:]]
    with pytest.raises(BadRequestError, match="250005 nodes"):
        decode([node(all_of_them), *more])


def test_keys_need_a_column() -> None:
    keys = Keys(type="int", count=1, starts=packed(1))
    with pytest.raises(BadRequestError, match="column without a proper path"):
        decode([node(keys, path=[])])


def test_a_service_that_does_not_know_keys_takes_them_for_unknown() -> None:
    """It skips the field: as if it were not there."""
    older = [field for field in Node.thrift_spec if field is None or field[0] != 10]
    assert [field[1:3] for field in Node.thrift_spec if field not in older] == [
        (TType.STRUCT, "keys")
    ]
    (sent,) = encode(e.InKeys(X, KeyList.of(ARRAYS["int"])))
    as_read = Node(**{field[2]: getattr(sent, field[2]) for field in older if field})
    assert decode([as_read]) == e.Unknown("x IN (4 keys)")


def test_an_older_callers_literals_are_what_they_were() -> None:
    options = tuple(e.Literal(value, pa.int32()) for value in range(1000))
    sent = e.In(X, options)
    filter_ = encode(sent)
    assert all(one.keys is None for one in filter_)
    assert decode(filter_) == sent


@given(
    st.sampled_from(["int", "bigint", "string", "date", "timestamp", "x", ""]),
    st.integers(-1, 5),
    *[
        st.one_of(
            st.none(),
            st.binary(max_size=24),
            st.lists(st.integers(-3, 3)).map(lambda n: packed(*n)),
        )
    ]
    * 4,
)
@settings(max_examples=examples(1000), deadline=None)
def test_whatever_is_sent_is_a_predicate_or_a_protocol_error(
    type_: str, count: int, starts: Any, ends: Any, texts: Any, text_ends: Any
) -> None:
    keys = Keys(type_, count, starts, ends, texts, text_ends)
    try:
        found = decoded(keys)
    except BadRequestError:
        return
    assert isinstance(found, e.InKeys | e.Unknown)
    if isinstance(found, e.InKeys):
        assert decode(encode(replace(found))) is not None


def test_a_hundred_thousand_keys_are_decoded_in_milliseconds() -> None:
    filter_ = encode(e.InKeys(X, KeyList.of(pa.array(np.arange(MANY) * 3, pa.int32()))))
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        decode(filter_)
        seconds.append(time.perf_counter() - started)
    # Literals take more than a second.
    assert min(seconds) < 0.1
