"""Requests with a condition of Spark: answers as for the same condition in SQL."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.decoder import Limits
from pyhudi_expr.protocol.conversion.literals import BadRequestError
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    Literal,
    Node,
    NodeKind,
    PruneStatus,
    SparkCondition,
)
from pyhudi_expr.service.answers.questions import decode_spark, reader_of

TABLE = "cow_v9_txns_simple_meta"
_PREFIX = "org.apache.spark.sql.catalyst.expressions."


def node(class_: str, /, *children: list[Any], **fields: Any) -> list[Any]:
    own = {"class": _PREFIX + class_, "num-children": len(children), **fields}
    return [own, *(below for child in children for below in child)]


def column(name: str, type_: str) -> list[Any]:
    return node("AttributeReference", name=name, dataType=type_, exprId=None)


REGION, DAY = column("region", "string"), column("txn_date", "date")
IN_US = SparkCondition(
    json.dumps(node("EqualTo", REGION, node("Literal", value="us", dataType="string")))
)
EARLY = SparkCondition(
    json.dumps(node("LessThan", DAY, node("Literal", value="x", dataType="date"))),
    {2: Literal("int", integerValue=19_739)},
)
SOME = SparkCondition(
    json.dumps(node("InSet", column("txn_id", "string"))),
    sets={0: [Literal("string", stringValue=f"TXN-{number:03}") for number in (3, 17)]},
)
LIKE = SparkCondition(
    json.dumps(
        node(
            "Like", column("txn_id", "string"), node("Literal", value="TXN-00%", dataType="string")
        )
    ),
    {0: Literal("string", stringValue="\\")},
)


def request(table: Path, condition: SparkCondition | None) -> ttypes.PruneRequest:
    """As the extension sends it: for services of before, the filter is unknown."""
    return ttypes.PruneRequest(
        protocolVersion=PROTOCOL_VERSION,
        requestId=str(uuid.uuid4()),
        basePath=str(table),
        filter=[Node(NodeKind.UNKNOWN, text="a condition of Spark")],
        view=ttypes.TableView.SNAPSHOT,
        sparkCondition=condition,
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (IN_US, "region = 'us'"),
        (EARLY, "txn_date < DATE '2024-01-17'"),
        (SOME, "txn_id IN ('TXN-003', 'TXN-017')"),
        (LIKE, "txn_id LIKE 'TXN-00%'"),
    ],
)
def test_it_is_answered_as_its_sql(
    client: PruningClient, golden: Mapping[str, Path], condition: SparkCondition, text: str
) -> None:
    found = client.send(request(golden[TABLE], condition))
    expected = client.prune(str(golden[TABLE]), parse_predicate(text, SPARK))
    assert found.status == PruneStatus.OK, found.message
    assert found.verdicts == expected.verdicts
    assert found.counts.filesDropped == expected.counts.filesDropped > 0


def test_a_service_that_does_not_know_the_field_keeps_every_file(
    client: PruningClient, golden: Mapping[str, Path]
) -> None:
    """Such a service reads the request without it."""
    found = client.send(request(golden[TABLE], None))
    assert found.status == PruneStatus.OK
    assert found.counts.filesDropped == 0
    assert not found.verdicts


@pytest.mark.parametrize(
    "condition",
    [
        SparkCondition(EARLY.tree),
        SparkCondition(SOME.tree),
        SparkCondition(EARLY.tree, {2: Literal("interval")}),
        SparkCondition(EARLY.tree, {2: Literal("int", stringValue="1")}),
        SparkCondition(SOME.tree, sets={0: [Literal("string", stringValue="\ufffd")]}),
        SparkCondition(json.dumps(node("ScalaUDF", REGION))),
        SparkCondition(json.dumps(node("EqualTo", REGION))),
    ],
)
def test_what_was_not_sent_is_unknown(condition: SparkCondition) -> None:
    assert isinstance(decode_spark(condition, UNKNOWN_SEMANTICS, Limits()), Unknown)


@pytest.mark.parametrize(
    "condition",
    [
        SparkCondition(None),
        SparkCondition("no JSON"),
        SparkCondition("[]"),
        SparkCondition("[" + "{}," * 11 + "{}]"),
        SparkCondition("[" * 11),
        SparkCondition(SOME.tree, sets={0: [Literal("bigint", integerValue=1)] * 11}),
    ],
)
def test_a_malformed_condition_is_refused(condition: SparkCondition) -> None:
    with pytest.raises(BadRequestError):
        decode_spark(condition, UNKNOWN_SEMANTICS, Limits(nodes=10))


def test_partition_columns_are_those_of_hudis_reader() -> None:
    assert reader_of(IN_US) is PartitionReader.HUDI_SPARK
    from_paths = SparkCondition(IN_US.tree, valuesFromPaths=True)
    assert reader_of(from_paths) is PartitionReader.ANY
