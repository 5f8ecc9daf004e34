"""Requests that need the first rows only: the list of slices is shorter, the verdicts are not."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import FirstRows, PruneStatus
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings


@pytest.fixture(scope="module")
def handler() -> PruningHandler:
    return PruningHandler(Pruner(), ServiceSettings())


def answer(
    handler: PruningHandler,
    golden: Mapping[str, Path],
    first: FirstRows | None,
    each: list[FirstRows] | None = None,
) -> ttypes.PruneResponse:
    return handler.prune(
        ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId=str(uuid.uuid4()),
            basePath=str(golden["cow_v9_txns_simple_meta"]),
            filter=encode(ALWAYS),
            view=ttypes.TableView.SNAPSHOT,
            listKept=True,
            firstRows=first,
            firstRowsOfEach=each,
        )
    )


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (FirstRows(rows=1), "limit"),
        (FirstRows(rows=1, path=["region"], type="string", descending=True), "top-k"),
    ],
)
def test_the_list_has_enough_rows_and_verdicts_stay(
    handler: PruningHandler, golden: Mapping[str, Path], first: FirstRows, name: str
) -> None:
    every, some = answer(handler, golden, None), answer(handler, golden, first)
    assert 0 < len(some.kept.fileIds) < len(every.kept.fileIds)
    assert set(some.kept.fileIds) < set(every.kept.fileIds)
    assert some.verdicts == every.verdicts == []
    dropped = len(every.kept.fileNames) - len(some.kept.fileNames)
    assert some.counts.filesDroppedBy == {name: dropped}
    assert some.counts.filesDropped == dropped
    assert some.message is None


def test_the_first_rows_of_several_orders_are_listed_together(
    handler: PruningHandler, golden: Mapping[str, Path]
) -> None:
    ends = [
        FirstRows(rows=1, path=["region"], type="string", descending=way, anyOfEqual=True)
        for way in (False, True)
    ]
    least, greatest = (set(answer(handler, golden, end).kept.fileIds) for end in ends)
    assert len(least) == len(greatest) == 1
    assert set(answer(handler, golden, None, ends).kept.fileIds) == least | greatest
    unknown = FirstRows(rows=1, path=["region"], type="array<int>")
    every = answer(handler, golden, None)
    assert answer(handler, golden, None, [ends[0], unknown]).kept == every.kept
    assert answer(handler, golden, None, [FirstRows(rows=-1)]).status == PruneStatus.BAD_REQUEST


@pytest.mark.parametrize(
    "first",
    [
        FirstRows(rows=10**6),
        FirstRows(rows=0),
        FirstRows(rows=1, path=["no_column"], type="string"),
        FirstRows(rows=1, path=["region"], type="varchar(9)"),
        FirstRows(rows=1, path=["region"], type="array<int>"),
    ],
)
def test_what_cannot_be_proved_keeps_the_list(
    handler: PruningHandler, golden: Mapping[str, Path], first: FirstRows
) -> None:
    assert answer(handler, golden, first).kept == answer(handler, golden, None).kept


@pytest.mark.parametrize(
    "first", [FirstRows(rows=-1), FirstRows(rows=1, path=[]), FirstRows(rows=1, path=["region"])]
)
def test_malformed_requests_are_refused(
    handler: PruningHandler, golden: Mapping[str, Path], first: FirstRows
) -> None:
    response = answer(handler, golden, first)
    assert response.status == PruneStatus.BAD_REQUEST
    assert response.kept is None
