"""Requests over a real socket, on golden tables."""

import uuid
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import Node, NodeKind, PruneStatus, VerdictKind
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables.listing import TableView

IN_US = parse_predicate("region = 'us'")
NEWEST = "99990101000000000"


@pytest.fixture
def table(golden) -> str:
    return str(golden["cow_v9_txns_simple_meta"])


def request(table: str, **fields: object) -> ttypes.PruneRequest:
    given = {
        "protocolVersion": PROTOCOL_VERSION,
        "requestId": str(uuid.uuid4()),
        "basePath": table,
        "filter": encode(IN_US),
        "view": ttypes.TableView.SNAPSHOT,
    }
    return ttypes.PruneRequest(**(given | fields))


def test_info_returns_the_versions_of_the_service(client: PruningClient):
    info = client.info()
    assert info.protocolVersion == PROTOCOL_VERSION
    assert info.version


def test_a_partition_that_its_values_exclude_is_dropped_whole(client, table):
    response = client.prune(table, IN_US)
    assert response.status == PruneStatus.OK
    assert response.basePath == table
    kinds = {verdict.partitionPath: verdict.kind for verdict in response.verdicts}
    assert kinds == {
        "region=apac": VerdictKind.DROP_PARTITION,
        "region=eu": VerdictKind.DROP_PARTITION,
    }


@pytest.mark.parametrize("view", list(TableView))
@pytest.mark.parametrize(
    "predicate",
    [
        "txn_id = 'TXN-017'",
        "txn_id LIKE 'TXN-00%' AND amount > 1000",
        "amount BETWEEN 100 AND 200 OR region = 'eu'",
        "txn_date < DATE '2024-01-17'",
        "NOT is_international",
        "merchant_name RLIKE '(?i)x'",
    ],
)
@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_the_counts_of_an_answer_equal_the_librarys(client, golden, name, predicate, view):
    question = PruneRequest(parse_predicate(predicate), view)
    expected = Pruner().prune(str(golden[name]), question)
    response = client.prune(str(golden[name]), question.predicate, view=view)
    assert response.status == PruneStatus.OK
    assert response.instant == expected.instant
    assert response.counts.filesConsidered == expected.files_total
    assert response.counts.filesDropped == expected.files_total - expected.files_kept
    assert response.counts.bytesDropped == expected.bytes_total - expected.bytes_kept
    assert response.counts.elapsedMicros > 0
    assert response.counts.filesDroppedBy == expected.dropped_by
    assert sum(expected.dropped_by.values()) == response.counts.filesDropped


def test_another_protocol_version_is_refused(client, table):
    response = client.send(request(table, protocolVersion=PROTOCOL_VERSION + 1))
    assert response.status == PruneStatus.UNSUPPORTED_VERSION
    assert response.protocolVersion == PROTOCOL_VERSION
    assert response.verdicts is None


def test_a_request_with_a_newer_instant_than_the_services_is_not_pruned(client, table):
    response = client.prune(table, IN_US, newest_instant=NEWEST)
    assert response.status == PruneStatus.NOT_PRUNED
    assert NEWEST in response.message
    assert response.verdicts is None
    instant = client.prune(table, IN_US).instant
    assert client.prune(table, IN_US, newest_instant=instant).status == PruneStatus.OK


def test_time_travel_before_the_clients_newest_instant_is_answered(client, table):
    last = client.prune(table, IN_US).instant
    before = str(int(last) - 1)
    response = client.prune(table, IN_US, as_of=before, newest_instant=last)
    assert response.status == PruneStatus.OK
    assert response.instant < last


def test_a_location_without_a_table(client, tmp_path: Path):
    response = client.prune(str(tmp_path), IN_US)
    assert response.status == PruneStatus.NOT_PRUNED
    assert str(tmp_path) in response.message


@pytest.mark.parametrize(
    "fields",
    [
        {"filter": []},
        {"filter": [Node(kind=NodeKind.NOT, children=[0])]},
        {"view": 99},
        {"view": None},
        {"requestId": None},
        {"basePath": ""},
        {"basePath": "relative/path"},
        {"filter": None},
    ],
)
def test_requests_that_break_the_protocol(client, table, fields):
    response = client.send(request(table, **fields))
    assert response.status == PruneStatus.BAD_REQUEST
    assert response.message


def test_a_deep_filter_is_refused_and_the_connection_goes_on(client, table):
    deep = [Node(kind=NodeKind.COLUMN, path=["a"])]
    deep += [Node(kind=NodeKind.NOT, children=[index]) for index in range(20_000)]
    response = client.send(request(table, filter=deep))
    assert response.status == PruneStatus.BAD_REQUEST
    assert "levels" in response.message
    assert client.prune(table, IN_US).status == PruneStatus.OK


def test_an_unknown_zone_affects_only_predicates_that_need_it(client, table):
    predicate = parse_predicate("region = 'us' AND txn_datetime > TIMESTAMP '2999-01-01 00:00:00'")
    known = client.prune(table, predicate, semantics=here("UTC"))
    nowhere = client.prune(table, predicate)
    assert known.counts.filesDropped == known.counts.filesConsidered
    assert nowhere.status == PruneStatus.OK
    assert 0 < nowhere.counts.filesDropped < nowhere.counts.filesConsidered
    assert "zone" in nowhere.message


def test_an_internal_error_is_a_status_and_no_exception():
    class Broken(Pruner):
        def open(self, *_, **__):
            raise RuntimeError("a bug")

    response = PruningHandler(Broken(), ServiceSettings()).prune(request("/t"))
    assert response.status == PruneStatus.FAILED
    assert "RuntimeError" in response.message
    assert PruningHandler(Broken(), ServiceSettings()).prune(None).status != PruneStatus.OK


def test_only_tables_below_the_roots_are_read(golden, tmp_path: Path):
    inside, outside = tmp_path / "in", golden["cow_v9_txns_simple_meta"]
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    handler = PruningHandler(Pruner(), ServiceSettings(table_roots=(str(inside),)))
    for path in (outside, inside / "link", f"{inside}/../in2", "s3://bucket/in"):
        response = handler.prune(request(str(path)))
        assert response.status == PruneStatus.BAD_REQUEST, path
        assert "table_roots" in response.message
    allowed = PruningHandler(Pruner(), ServiceSettings(table_roots=(str(outside.parent),)))
    for path in (outside, f"file://{outside}", inside / "link"):
        assert allowed.prune(request(str(path))).status == PruneStatus.OK, path


def test_buckets_that_a_catalog_states_drop_file_groups(client, flink):
    asked = {"filter": encode(parse_predicate("id = 3"))}
    stated = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table = str(flink["mor_bucket"])
    without = client.send(request(table, **asked))
    found = client.send(request(table, **asked, catalogProperties=stated))
    assert "buckets" not in without.counts.filesDroppedBy
    assert found.counts.filesDroppedBy["buckets"]
    of_none = {**stated, "hoodie.bucket.index.num.buckets": "none"}
    refused = client.send(request(table, **asked, catalogProperties=of_none))
    assert refused.status == PruneStatus.NOT_PRUNED
    assert "expected a number from 1, got 'none'" in refused.message
