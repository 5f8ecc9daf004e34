"""An overloaded server: answers 503 and cut bodies change no result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from devtools.s3.proxy import RecordingProxy
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from tests.manage.indexing import sparkless_indexes
from tests.marks import long
from tests.stored_files import StoredFiles

pytestmark = pytest.mark.s3

_INDEXED = "cow_v9_txns_simple_meta"
_SMALL = "cow_v8_complexkeygen_hivestyle"
_RATE = 0.05
_TIME = re.compile(r"\d{17}")
_COMMANDS = (
    sparkless_indexes.create_by_number,
    sparkless_indexes.drop_by_number,
    sparkless_indexes.bootstrap_metadata,
    sparkless_indexes.create_by_name,
    sparkless_indexes.create_by_number,
    sparkless_indexes.create_of_hudi,
    sparkless_indexes.refresh_extension,
    sparkless_indexes.compact_extension,
    sparkless_indexes.drop_by_number,
    sparkless_indexes.drop_of_hudi,
)


@pytest.mark.parametrize("seed", [1, *map(long, range(2, 6))])
def test_every_index_prunes_as_without_faults(
    seed: int,
    s3_env: Mapping[str, str],
    s3_bucket: str,
    s3_proxy: RecordingProxy,
    golden: Mapping[str, Path],
) -> None:
    local = golden[_INDEXED]
    storage = Storage.open(f"s3://{s3_bucket}/t")
    StoredFiles.of_directory(local).restore(storage)
    predicates = _predicates(local)
    expected = [_kept(str(local), predicate) for predicate in predicates]
    assert len({len(kept) for kept in expected}) > 2
    s3_proxy.requests.clear()
    with s3_proxy.faults(_RATE, seed):
        assert [_kept(storage.uri, predicate) for predicate in predicates] == expected
    assert _faults(s3_proxy) > 5


@pytest.mark.parametrize("commands", [_COMMANDS[:2], long(_COMMANDS)], ids=["two", "all"])
def test_indexes_are_built_and_dropped_as_without_faults(
    commands: Sequence[Callable[[str], None]],
    s3_env: Mapping[str, str],
    s3_bucket: str,
    s3_proxy: RecordingProxy,
    golden: Mapping[str, Path],
) -> None:
    storage = Storage.open(f"s3://{s3_bucket}/t")
    bare = StoredFiles.of_directory(golden[_SMALL])
    bare.restore(storage)
    expected = _states(storage, commands)
    bare.restore(storage)
    s3_proxy.requests.clear()
    with s3_proxy.faults(_RATE, seed=1):
        assert _states(storage, commands) == expected
    assert _faults(s3_proxy) > 5


def _states(storage: Storage, commands: Sequence[Callable[[str], None]]) -> list[object]:
    """The indexes, the kept files and all paths after each command."""
    states = list[object]()
    for command in commands:
        command(storage.uri)
        found = index_statuses(HudiTable.open(storage.uri))
        kept = [_kept(storage.uri, text) for text in ("name = 'Alice'", "intField = 25000")]
        paths = Counter(_TIME.sub("T", entry.path) for entry in storage.list(recursive=True))
        states.append(({status.name: status.state for status in found}, kept, paths))
    return states


def _predicates(table: Path) -> Sequence[str]:
    """One or more for each index, with values of a row."""
    path = max(table.rglob("*.parquet"), key=lambda file: file.stat().st_mtime)
    columns = ["txn_id", "amount", "merchant_name", "txn_date", "region"]
    row = pq.ParquetFile(path).read(columns).slice(0, 1).to_pylist()[0]
    return [
        f"txn_id = '{row['txn_id']}'",
        f"amount > {row['amount']}",
        f"merchant_name = '{row['merchant_name']}'",
        f"txn_date = DATE '{row['txn_date']}'",
        f"region = '{row['region']}'",
        "txn_id = 'none'",
        "merchant_name = 'none'",
    ]


def _kept(uri: str, predicate: str) -> list[str]:
    result = Pruner().prune(uri, PruneRequest(parse_predicate(predicate)))
    return sorted(result.kept_paths())


def _faults(proxy: RecordingProxy) -> int:
    return sum(request.fault is not None for request in proxy.requests)
