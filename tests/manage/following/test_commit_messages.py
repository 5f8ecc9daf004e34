"""What is read of the messages of Hudi's commit callback."""

from __future__ import annotations

import json

import pytest

from pyhudi_expr.manage.following import HEAD_BYTES, committed_table

_STATS = [{"fileId": f"f{n}", "path": f"p/f{n}.parquet", "basePath": "/none"} for n in range(2000)]


def message(path: object, **more: object) -> bytes:
    """As Hudi 1.2 writes it: the written files come last."""
    first = {"commitTime": "20261124133904783", "tableName": 'a "basePath": table'}
    return json.dumps({**first, "basePath": path, "hoodieWriteStat": _STATS, **more}).encode()


@pytest.mark.parametrize("path", ["/warehouse/trips", "s3://lake/trips", '/a "quoted" é\\/t'])
def test_the_table_is_in_the_beginning_of_a_message(path: str) -> None:
    whole = message(path)
    assert len(whole) > HEAD_BYTES
    assert committed_table(whole[:HEAD_BYTES]) == path


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"basePath", message(None), message(""), message(7), b'{"basePath": "\\x"}'],
)
def test_other_messages_name_no_table(body: bytes) -> None:
    assert committed_table(body.replace(b"/none", b"")) is None
