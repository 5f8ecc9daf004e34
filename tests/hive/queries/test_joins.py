"""The keys of one side of a join prune the files of the other side (Tez).

The tables are Hudi's, of tests/data/golden: five files in three partitions, twelve rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from tests.hive.query_results import TEZ, Answer, Hive

pytestmark = pytest.mark.hive

UNRESTRICTED = {"hudi.pruning.joins": "false"}
_TYPES = ("string", "bigint", "timestamp", "date", "string", "decimal(15,2)", "boolean")
KEYS = ("txn_id", "txn_ts", "txn_datetime", "txn_date", "region")
COLUMNS = (*KEYS, "amount", "is_international")
#: Keys of two rows of `fact`, and 3,000 others on both sides of them: too many for literals.
_MANY = (
    "SELECT txn_id AS m_txn_id, txn_ts AS m_txn_ts, txn_datetime AS m_txn_datetime,"
    " txn_date AS m_txn_date FROM fact WHERE txn_id IN ('TXN-001', 'TXN-003')"
    " UNION ALL SELECT concat(if(pos % 2 = 0, 'A-', 'Z-'), pos), CAST(-2 * pos AS bigint),"
    " CAST(date_add('1950-01-01', pos) AS timestamp),"
    " CAST(date_add(if(pos % 2 = 0, '1950-01-01', '2050-01-01'), pos) AS date)"
    " FROM (SELECT split(space(2999), ' ') AS parts) s"
    " LATERAL VIEW posexplode(parts) p AS pos, part"
)


@pytest.fixture(scope="module")
def tables(hive: Hive, golden: Mapping[str, Path]) -> Iterator[None]:
    """`fact`, `few` (two of its rows under other names, and one without keys), and `many`."""
    few = ", ".join(f"{column} AS k_{column}" for column in COLUMNS)
    nothing = ", ".join(f"CAST(NULL AS {type_})" for type_ in _TYPES)
    hive.run(
        create_with_handler("fact", golden["cow_v9_txns_simple_meta"]),
        create_with_handler("merged", golden["mor_v9_txns_simple_meta"]),
        f"CREATE TABLE many STORED AS PARQUET AS {_MANY}",
        f"CREATE TABLE few STORED AS PARQUET AS SELECT {few}, 1 AS t FROM fact"
        " WHERE txn_id IN ('TXN-001', 'TXN-003')"
        f" UNION ALL SELECT {nothing}, 2",
    )
    yield
    hive.run("DROP TABLE few", "DROP TABLE many", "DROP TABLE merged", "DROP TABLE fact")


def query_both_ways(hive: Hive, query: str) -> Answer:
    """Runs the query, and checks its rows against a run that reads every file."""
    unrestricted = hive.query(query, TEZ, settings=UNRESTRICTED)
    answer = hive.query(query, TEZ)
    assert answer.rows == unrestricted.rows, query
    assert answer.scan.files_kept <= unrestricted.scan.files_kept
    return answer


def test_only_files_that_may_hold_a_key_are_read(hive: Hive, tables: None) -> None:
    every = hive.query(f"SELECT txn_id, {', '.join(KEYS)} FROM fact").rows
    few = [row for row in every if row[0] in ("TXN-001", "TXN-003")]
    for position, column in enumerate(KEYS, 1):
        answer = hive.query(
            f"SELECT f.txn_id FROM fact f JOIN few ON f.{column} = few.k_{column}", TEZ
        )
        keys = [row[position] for row in few]
        matching = [row[0] for row in every for key in keys if row[position] == key]
        assert sorted(row[0] for row in answer.rows) == sorted(matching), column
        assert answer.scan.files_considered == 5
        assert answer.scan.files_kept < 5, column


@pytest.mark.smoke("txn_ts")
@pytest.mark.parametrize("column", ["txn_id", "txn_ts", "txn_datetime", "txn_date"])
def test_thousands_of_keys_prune_as_a_few_do(hive: Hive, tables: None, column: str) -> None:
    query = f"SELECT f.txn_id, f.amount FROM fact f JOIN many ON f.{column} = many.m_{column}"
    answer = query_both_ways(hive, query)
    assert {"TXN-001", "TXN-003"} <= {row[0] for row in answer.rows}
    assert answer.scan.outcomes == ("PRUNED",)
    assert 0 < answer.scan.files_kept < answer.scan.files_considered == 5


def test_more_keys_than_a_service_takes_literals_prune(hive: Hive, tables: None) -> None:
    numbers = "SELECT split(space(399), ' ') AS parts"
    exploded = f"({numbers}) s LATERAL VIEW posexplode(parts) p AS pos, part"
    hive.run(
        "CREATE TABLE most STORED AS PARQUET AS SELECT m_txn_ts AS k FROM many WHERE m_txn_ts > 0"
        " UNION ALL SELECT CAST(-3 * (400 * a.pos + b.pos) AS bigint)"
        f" FROM (SELECT pos FROM {exploded}) a CROSS JOIN (SELECT pos FROM {exploded}) b"
    )
    sizes = {"hive.tez.dynamic.partition.pruning.max.event.size": "16000000"}
    query = "SELECT f.txn_id FROM fact f JOIN most ON f.txn_ts = most.k"
    try:
        assert hive.query("SELECT count(*) FROM most").rows == [(160_002,)]
        answer = hive.query(query, TEZ, settings=sizes)
        assert sorted(answer.rows) == [("TXN-001",), ("TXN-003",)]
        assert answer.scan.outcomes == ("PRUNED",)
        assert 0 < answer.scan.files_kept < 5
    finally:
        hive.run("DROP TABLE most")


def test_keys_that_may_be_null_restrict_a_scan(hive: Hive, tables: None) -> None:
    """`few` has a row without keys, which no condition excludes: it makes Hive fail."""
    for column in ("txn_id", "txn_ts"):
        query = f"SELECT few.t, f.txn_id FROM few LEFT JOIN fact f ON f.{column} = few.k_{column}"
        answer = query_both_ways(hive, query)
        assert (2, None) in answer.rows
        assert answer.scan.files_kept < answer.scan.files_considered == 5
    through = (
        "SELECT f.txn_id FROM (SELECT b.k_txn_id AS k FROM few a LEFT JOIN few b ON a.t = b.t"
        " WHERE a.t > 0) j JOIN fact f ON f.txn_id = j.k"
    )
    answer = query_both_ways(hive, through)
    assert answer.rows
    assert answer.files == (5, 1)


def test_without_any_key_no_file_is_read(hive: Hive, tables: None) -> None:
    query = "SELECT f.txn_id FROM fact f JOIN few ON f.txn_id = few.k_txn_id WHERE few.t = 3"
    answer = hive.query(query, TEZ)
    assert (answer.rows, answer.files) == ([], (5, 0))


def test_log_files_are_pruned_with_their_base_files(hive: Hive, tables: None) -> None:
    query = "SELECT txn_id FROM merged WHERE txn_id IN (SELECT k_txn_id FROM few WHERE t = 1)"
    answer = hive.query(query, TEZ)
    assert (answer.rows, answer.files) == ([("TXN-001",), ("TXN-003",)], (5, 1))


NOT_RESTRICTED = [
    # For types with parameters Hive would fail.
    "SELECT f.txn_id FROM fact f JOIN few ON f.amount = few.k_amount",
    # Rows of `fact` without a partner are part of the result.
    "SELECT few.k_txn_id, f.txn_id FROM few FULL JOIN fact f ON f.txn_id = few.k_txn_id",
    "SELECT f.txn_id FROM fact f LEFT JOIN few ON f.txn_id = few.k_txn_id",
    "SELECT f.txn_id FROM fact f WHERE txn_id NOT IN"
    " (SELECT k_txn_id FROM few WHERE k_txn_id IS NOT NULL)",
    # Comparisons other than = of equal types.
    "SELECT f.txn_id FROM fact f JOIN few ON f.txn_id <=> few.k_txn_id",
    "SELECT f.txn_id FROM fact f JOIN few ON f.txn_ts > few.k_txn_ts",
    "SELECT f.txn_id FROM fact f JOIN few ON f.txn_ts = CAST(few.k_txn_ts AS double)",
    "SELECT f.txn_id FROM fact f JOIN few ON f.is_international = few.k_is_international",
]
RESTRICTED = [
    "SELECT k_txn_id, txn_id FROM few LEFT JOIN fact ON txn_id = k_txn_id"
    " WHERE k_txn_id IS NOT NULL AND t = 1",
    "SELECT count(*) FROM fact JOIN few ON txn_id = k_txn_id AND region = k_region",
    "SELECT a.txn_id, b.txn_id FROM fact a JOIN few ON a.txn_id = few.k_txn_id"
    " JOIN merged b ON b.txn_id = few.k_txn_id",
    "SELECT txn_id FROM (SELECT txn_id FROM fact UNION ALL SELECT txn_id FROM merged) u"
    " JOIN few ON u.txn_id = few.k_txn_id",
]


@pytest.mark.parametrize(
    "query",
    [*NOT_RESTRICTED[:2], *(pytest.param(q, marks=pytest.mark.long) for q in NOT_RESTRICTED[2:])],
)
def test_other_joins_read_every_file(hive: Hive, tables: None, query: str) -> None:
    answer = query_both_ways(hive, query)
    assert answer.rows
    assert answer.files == (5, 5)


#: Queries that scan a table more than once, and how many files they read in all. Hive merges scans
#: (hive.optimize.shared.work), by default those with different keys, too.
TWICE = [
    # Each by its own keys: of other columns, of the same column, and one of them by none.
    (
        "SELECT f.txn_id FROM fact f JOIN few ON f.txn_id = few.k_txn_id"
        " UNION ALL SELECT f.txn_id FROM fact f JOIN few ON f.txn_date = few.k_txn_date",
        (10, 2),
    ),
    (
        "SELECT f.txn_id, 1 FROM fact f JOIN few ON f.txn_id = few.k_txn_id WHERE few.t = 1"
        " UNION ALL SELECT f.txn_id, 2 FROM fact f JOIN few ON f.txn_id = few.k_txn_id"
        " WHERE few.k_region = 'eu'",
        (10, 1),
    ),
    (
        "SELECT txn_id FROM fact JOIN few ON txn_id = k_txn_id"
        " UNION ALL SELECT txn_id FROM fact WHERE region = 'eu'",
        (10, 3),
    ),
    (
        "SELECT a.txn_id, b.amount FROM fact a JOIN fact b ON a.txn_id = b.txn_id"
        " JOIN few ON a.region = few.k_region WHERE b.amount > 100",
        (10, 6),
    ),
    # Two keys against one of them.
    (
        "SELECT f.txn_id FROM fact f JOIN few ON f.txn_id = few.k_txn_id"
        " AND f.txn_date = few.k_txn_date"
        " UNION ALL SELECT f.txn_id FROM fact f JOIN many ON f.txn_date = m_txn_date",
        (10, 2),
    ),
]


@pytest.mark.parametrize(
    ("query", "files"), [TWICE[0], *(pytest.param(*q, marks=pytest.mark.long) for q in TWICE[1:])]
)
def test_each_scan_of_a_table_is_restricted_by_its_own_keys(
    hive: Hive, tables: None, query: str, files: tuple[int, int]
) -> None:
    answer = query_both_ways(hive, query)
    assert answer.rows
    assert answer.files == files


def test_equal_parts_of_a_query_share_a_scan(hive: Hive, tables: None) -> None:
    """Where Hive computes a subquery once, its keys restrict the one scan of it."""
    joined = "SELECT f.txn_id, f.region FROM fact f JOIN few ON f.txn_id = few.k_txn_id"
    query = (
        f"WITH w AS ({joined}) SELECT txn_id, count(*) FROM w GROUP BY txn_id"
        " UNION ALL SELECT region, count(*) FROM w GROUP BY region"
    )
    settings = {"hive.auto.convert.join": "false"}
    unrestricted = hive.query(query, TEZ, settings={**settings, **UNRESTRICTED})
    answer = hive.query(query, TEZ, settings=settings)
    assert answer.rows == unrestricted.rows
    assert answer.files == (5, 1)


@pytest.mark.long
@pytest.mark.parametrize("query", RESTRICTED)
def test_joins_of_every_shape_have_the_same_rows(hive: Hive, tables: None, query: str) -> None:
    answer = query_both_ways(hive, query)
    assert answer.rows
    assert answer.scan.files_kept < answer.scan.files_considered


def test_a_shared_scan_returns_every_row_to_other_operators(hive: Hive, tables: None) -> None:
    hive.run(
        "CREATE TABLE joined (txn_id string) STORED AS TEXTFILE",
        "CREATE TABLE all_of_them (txn_id string) STORED AS TEXTFILE",
    )
    insert = (
        "FROM fact INSERT OVERWRITE TABLE joined SELECT txn_id"
        " WHERE txn_id IN (SELECT k_txn_id FROM few WHERE t = 1)"
        " INSERT OVERWRITE TABLE all_of_them SELECT txn_id"
    )
    try:
        hive.query(insert, TEZ)
        counted = [
            len(hive.query(f"SELECT * FROM {name}").rows) for name in ("joined", "all_of_them")
        ]
        assert counted == [2, 12]
    finally:
        hive.run("DROP TABLE joined", "DROP TABLE all_of_them")
