"""A table in a bucket, opened with storage options: the answers of the same table on a disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

import pyhudi_expr as ph
from devtools.s3.server import S3Server
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE

pytestmark = pytest.mark.s3


@pytest.fixture
def options(s3_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The options of the server, which the environment does not have."""
    for name in s3_env:
        if name not in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.delenv(name)
    monkeypatch.delenv(OPTIONS_VARIABLE, raising=False)
    return {
        "endpoint": s3_env["AWS_ENDPOINT_URL"],
        "access_key_id": s3_env["AWS_ACCESS_KEY_ID"],
        "secret_access_key": s3_env["AWS_SECRET_ACCESS_KEY"],
        "region": s3_env["AWS_REGION"],
    }


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v6_simplekeygen_nonhivestyle"])
def test_a_table_in_a_bucket_answers_as_on_a_disk(
    s3_server: S3Server,
    s3_bucket: str,
    golden: Mapping[str, Path],
    options: Mapping[str, str],
    name: str,
) -> None:
    bucket = s3_server.directory / "buckets" / s3_bucket
    shutil.copytree(golden[name], bucket / name)
    local = ph.table(golden[name])
    remote = ph.table(f"s3://{s3_bucket}/{name}", storage_options=options)
    assert remote.schema == local.schema
    assert (remote.version, dict(remote.properties)) == (local.version, dict(local.properties))
    for method in ("files", "history", "indexes"):
        found, expected = (getattr(table, method)() for table in (remote, local))
        assert found.sort_by(found.column_names[0]) == expected.sort_by(expected.column_names[0])
    key = local.scan(limit=1, meta=True).to_arrow()["_hoodie_record_key"][0].as_py()
    condition = f"_hoodie_record_key = '{key}'"
    assert remote.prune(condition).kept_paths() == local.prune(condition).kept_paths()
    assert remote.prune(condition).kept_uris()[0].startswith(f"s3://{s3_bucket}/{name}/")
    assert remote.scan(condition).count() == 1
    order = "_hoodie_record_key"
    rows = remote.scan(meta=True).to_arrow().sort_by(order)
    assert rows == local.scan(meta=True).to_arrow().sort_by(order)
    connection = duckdb.connect()
    connection.register("dataset", remote.to_pyarrow_dataset())
    assert connection.sql("SELECT count(*) FROM dataset").fetchall() == [(rows.num_rows,)]
    assert options["secret_access_key"] not in repr(remote) + remote._repr_html_()


def test_wrong_keys_are_an_error_without_the_keys(
    s3_bucket: str, options: Mapping[str, str]
) -> None:
    wrong = {**options, "secret_access_key": "a-wrong-secret"}
    with pytest.raises(ph.HudiError, match="access is denied") as found:
        ph.table(f"s3://{s3_bucket}/t", storage_options=wrong)
    assert "a-wrong-secret" not in str(found.value)
    with pytest.raises(ph.TableNotFound, match=r"is missing\)$"):
        ph.table(f"s3://{s3_bucket}/t", storage_options=options)


def test_tables_above_and_below_a_path_are_named(
    s3_server: S3Server, s3_bucket: str, options: Mapping[str, str], golden: Mapping[str, Path]
) -> None:
    table = s3_server.directory / "buckets" / s3_bucket / "lake" / "trips"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], table)
    for path in ("lake", "lake/trips/region=us"):
        with pytest.raises(
            ph.TableNotFound, match=f"a Hudi table in s3a?://{s3_bucket}/lake/trips"
        ):
            ph.table(f"s3a://{s3_bucket}/{path}", storage_options=options)
