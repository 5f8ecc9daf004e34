"""Requests with the keys of a join: answers as for IN, and nothing that grows with the keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.arrays import AnyArray, value_list
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.expr.nodes import Column, HudiExpression, In, InKeys, Literal
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.advice.query_history import read_query_log
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus
from pyhudi_expr.service.query_log import QueryLog

TABLE = "cow_v9_txns_simple_meta"
#: Values of the table and others, for a partition column, the record key, and further columns.
QUESTIONS: Mapping[str, AnyArray] = {
    "region": pa.array(["us", "mars"]),
    "txn_id": pa.array(["TXN-003", "TXN-900", "TXN-017"]),
    "merchant_name": pa.array(["Amazon", "nobody"]),
    "txn_date": pa.array([19_738, 19_740, 1], pa.int32()).view(pa.date32()),
    "txn_ts": pa.array([1, 2, 3], pa.int64()),
}


def by_literals(column: str, keys: AnyArray) -> HudiExpression:
    values = value_list(keys.view(pa.int32()) if keys.type == pa.date32() else keys)
    return In(Column((column,)), tuple(Literal(value, keys.type) for value in values))


def answered(client: PruningClient, table: Path, question: HudiExpression) -> PruneResponse:
    response = client.prune(str(table), question)
    assert response.status == PruneStatus.OK, response.message
    return response


@pytest.mark.parametrize("column", QUESTIONS)
@pytest.mark.parametrize("name", [TABLE, "mor_v9_txns_simple_meta"])
def test_every_index_answers_keys_as_it_answers_in(
    client: PruningClient, golden: Mapping[str, Path], name: str, column: str
) -> None:
    keys = QUESTIONS[column]
    by_keys = answered(client, golden[name], InKeys(Column((column,)), KeyList.of(keys)))
    expected = answered(client, golden[name], by_literals(column, keys))
    assert by_keys.verdicts == expected.verdicts
    assert by_keys.counts.filesDropped > 0
    assert by_keys.counts.filesDroppedBy == expected.counts.filesDroppedBy


def many(*wanted: str) -> InKeys:
    keys = pa.array([*wanted, *(f"U{number:07}" for number in range(100_000))])
    return InKeys(Column(("txn_id",)), KeyList.of(keys))


def test_more_keys_than_are_looked_up_are_judged_by_bounds(golden: Mapping[str, Path]) -> None:
    none = Pruner().prune(str(golden[TABLE]), PruneRequest(many()))
    assert none.files_kept == 0
    assert "record_index" not in none.dropped_by
    one = Pruner().prune(str(golden[TABLE]), PruneRequest(many("TXN-017")))
    assert 0 < one.files_kept < one.files_total
    few = In(Column(("txn_id",)), (Literal("TXN-017", pa.string()),))
    wanted = Pruner().prune(str(golden[TABLE]), PruneRequest(few))
    assert set(wanted.kept_paths()) <= set(one.kept_paths())


def test_what_is_said_of_many_keys_is_short(golden: Mapping[str, Path], tmp_path: Path) -> None:
    question = many("TXN-017")
    result = Pruner().prune(str(golden[TABLE]), PruneRequest(question))
    assert len(str(result.explain())) < 2_000
    assert "'TXN-017', 'U0000000', 'U0000001', ... 100001 in all" in str(result.explain())
    assert len(repr(result)) < 500
    log = QueryLog(tmp_path / "asked")
    log.add("/t", question, UNKNOWN_SEMANTICS)
    text = (tmp_path / "asked").read_text()
    assert len(text) < 4_000
    (read,) = read_query_log(text, "/t").queries
    again = Pruner().prune(str(golden[TABLE]), PruneRequest(read.predicate))
    assert set(result.kept_paths()) <= set(again.kept_paths())


def test_the_time_of_an_answer_does_not_grow_with_the_keys(
    client: PruningClient, golden: Mapping[str, Path]
) -> None:
    question = InKeys(Column(("txn_ts",)), KeyList.of(pa.array(np.arange(100_000) * 3)))
    answered(client, golden[TABLE], question)
    spent = [answered(client, golden[TABLE], question).counts.elapsedMicros / 1e6 for _ in range(5)]
    assert min(spent) < 0.2  # literals take more than a second
