"""Storage options as values: tables in an object store, whose keys the process does not know."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.s3.server import S3Server
from pyhudi_expr import scan
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.slices.slice_rows import SliceReader
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE

pytestmark = pytest.mark.s3

_NAMES = ("cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta")


@pytest.fixture
def options(s3_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The options of the server, which the environment does not have."""
    for name in s3_env:
        if name not in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.delenv(name)
    monkeypatch.delenv(OPTIONS_VARIABLE, raising=False)
    return {
        "aws_endpoint_url": s3_env["AWS_ENDPOINT_URL"],
        "aws_access_key_id": s3_env["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": s3_env["AWS_SECRET_ACCESS_KEY"],
        "region": s3_env["AWS_REGION"],
    }


@pytest.fixture(params=_NAMES)
def tables(
    request: pytest.FixtureRequest, s3_server: S3Server, s3_bucket: str, golden: Mapping[str, Path]
) -> tuple[str, str]:
    """A table on the local disk, and the same in a bucket."""
    local = golden[request.param]
    target = s3_server.directory / "buckets" / s3_bucket / "t"
    shutil.copytree(local, target, dirs_exist_ok=True)
    return str(local), f"s3a://{s3_bucket}/t"


def test_rows_are_those_of_the_local_table(
    tables: tuple[str, str], options: Mapping[str, str]
) -> None:
    local, remote = tables
    columns = ["txn_id", "amount"]
    expected = scan(local, "region = 'us'", columns).to_table().sort_by("txn_id")
    found = scan(remote, "region = 'us'", columns, storage_options=options).to_table()
    assert found.sort_by("txn_id").equals(expected)
    assert OPTIONS_VARIABLE not in os.environ
    pruner = Pruner(storage_options=options)
    request = PruneRequest(parse_predicate("region = 'us'"))
    assert sorted(pruner.prune(remote, request).kept_paths()) == sorted(
        Pruner().prune(local, request).kept_paths()
    )
    given = scan(remote, "region = 'us'", columns, storage_options=options, pruner=pruner)
    assert given.to_table().num_rows == expected.num_rows


def test_no_repr_shows_the_options(tables: tuple[str, str], options: Mapping[str, str]) -> None:
    table = HudiTable.open(tables[1], options)
    reader = SliceReader.of(table, table.instant)
    assert pickle.loads(pickle.dumps(reader)).storage().read(".hoodie/hoodie.properties")  # noqa: S301  our own
    shown = f"{table!r} {table.storage!r} {reader!r} {Pruner(storage_options=options)!r}"
    assert options["aws_secret_access_key"] not in shown
    assert options["aws_access_key_id"] not in shown


def test_without_the_options_there_are_no_credentials(
    tables: tuple[str, str], options: Mapping[str, str]
) -> None:
    wrong = {**options, "aws_secret_access_key": "wrong"}
    with pytest.raises(HudiError, match="access is denied"):
        HudiTable.open(tables[1], wrong)
