"""MapReduce jobs that read several tables, or one several times: each alias prunes by its filter.

The tables are Hudi's, of tests/data/golden: five files in three partitions each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from tests.hive.query_results import MR, Hive
from tests.marks import long

pytestmark = pytest.mark.hive

SHUFFLE = {"hive.auto.convert.join": "false"}
FILES = 5


@pytest.fixture(scope="module")
def tables(hive: Hive, golden: Mapping[str, Path]) -> Iterator[None]:
    """`plain`, `logged`, and a table of Hive's own with the keys of both."""
    hive.run(
        create_with_handler("plain", golden["cow_v9_txns_simple_meta"]),
        create_with_handler("logged", golden["mor_v9_txns_simple_meta"]),
        "CREATE TABLE keys STORED AS PARQUET AS SELECT txn_id AS k FROM plain",
    )
    yield
    hive.run("DROP TABLE keys", "DROP TABLE logged", "DROP TABLE plain")


@pytest.mark.smoke("SELECT txn_id")
@pytest.mark.parametrize(
    ("query", "considered", "kept"),
    [
        (  # Each table by its own filter.
            "SELECT a.txn_id, b.amount FROM plain a JOIN logged b ON a.txn_id = b.txn_id"
            " WHERE a.region = 'us' AND b.region = 'us'",
            2 * FILES,
            4,
        ),
        long(  # Beside a table that is not Hudi's.
            "SELECT a.txn_id FROM plain a JOIN keys ON a.txn_id = k WHERE a.region = 'us'", FILES, 2
        ),
        (  # A file that either alias may need is kept.
            "SELECT a.txn_id, b.txn_id FROM plain a JOIN plain b"
            " ON substr(a.txn_id, 1, 3) = substr(b.txn_id, 1, 3)"
            " WHERE a.region = 'us' AND b.region = 'eu'",
            FILES,
            FILES - 1,
        ),
        (  # An alias without a filter needs every file.
            "SELECT a.txn_id, b.region FROM plain a LEFT JOIN plain b"
            " ON a.account_id <=> b.account_id AND a.region = 'us'",
            FILES,
            FILES,
        ),
        long(  # Each filter is one of its own alias, in outer joins too.
            "SELECT a.txn_id, b.txn_id FROM plain a LEFT JOIN logged b"
            " ON a.txn_id = b.txn_id AND b.region = 'us'",
            2 * FILES,
            FILES + 2,
        ),
        (
            "SELECT txn_id FROM plain WHERE region = 'us'"
            " UNION ALL SELECT txn_id FROM logged WHERE region = 'eu'",
            2 * FILES,
            4,
        ),
    ],
)
def test_each_alias_prunes_by_its_own_filter(
    hive: Hive, tables: None, query: str, considered: int, kept: int
) -> None:
    answer = hive.query_both_ways(query, MR, SHUFFLE)
    assert answer.rows
    assert answer.files == (considered, kept)


def test_a_map_join_of_a_table_with_itself_loses_no_row(hive: Hive, tables: None) -> None:
    """The local task reads the small side, and the job the other one."""
    query = (
        "SELECT a.txn_id, b.txn_id FROM plain a JOIN plain b ON a.currency = b.currency"
        " WHERE a.region = 'us' AND b.region = 'apac'"
    )
    answer = hive.query_both_ways(query, MR, {"hive.auto.convert.join": "true"})
    assert answer.rows
