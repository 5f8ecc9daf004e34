"""No sequence of DDL statements deletes or moves a byte of a Hudi table in Hive 3.1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.hive_versions import HIVE_3
from tests.example_counts import examples
from tests.hive.adoption.hudi_sync import metastore_uri
from tests.hive.query_results import Hive
from tests.hive.statements.random_statements import run_lives

pytestmark = [pytest.mark.hive, pytest.mark.long]


def test_random_statements_leave_the_directory_as_it_is(
    hive: Hive,
    golden: Mapping[str, Path],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    uri = metastore_uri(hive.server, HIVE_3.lib, tmp_path_factory.mktemp("metastore-port"))
    table = golden["cow_v9_txns_simple_meta"]
    run_lives(hive, uri, "3.1", table, tmp_path, examples(8))
