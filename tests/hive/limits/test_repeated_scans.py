"""Tables that a query scans several times are pruned by the keys of each scan's own join (Tez)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hive.limits.limited_tables import FILES
from tests.hive.query_results import TEZ, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

UNRESTRICTED = {"hudi.pruning.joins": "false"}
#: Plans of which Hive makes one scan of those that it can.
SHUFFLED = {"hive.auto.convert.join": "false"}

BY_ID = "SELECT f.id, f.tied FROM {t} f JOIN picked p ON f.id = p.k WHERE p.name IN ('n5', 'n2001')"
BY_ID_AND_TS = (
    "SELECT f.id, f.tied FROM {t} f JOIN picked p ON f.id = p.k JOIN picked q ON f.ts = q.k"
    " WHERE p.name LIKE 'n10%' AND q.name LIKE 'n1%'"
)


@pytest.fixture(scope="module")
def picked(hive: Hive, table: str) -> Iterator[None]:
    hive.run(
        "CREATE TABLE picked STORED AS PARQUET AS"
        f" SELECT id AS k, concat('n', id) AS name FROM {table}"
    )
    yield
    hive.run("DROP TABLE picked")


@pytest.mark.smoke(
    "SELECT f.id, f.tied FROM {t} f JOIN picked p ON f.ts = p.k WHERE p.name IN ('n5', 'n2001')-as"
)
@pytest.mark.parametrize("settings", [SHUFFLED, {}], ids=["shuffled", "as planned"])
@pytest.mark.parametrize("other", [BY_ID_AND_TS, BY_ID.replace("f.id = p.k", "f.ts = p.k")])
def test_rows_need_keys_of_their_own_joins_only(
    hive: Hive, table: str, picked: None, other: str, settings: dict[str, str]
) -> None:
    """Hive would also make one scan of these, of rows with a key of each column."""
    query = f"{BY_ID} UNION ALL {other}".format(t=table)
    unrestricted = hive.query(query, TEZ, settings={**settings, **UNRESTRICTED})
    answer = hive.query(query, TEZ, settings=settings)
    assert answer.rows == unrestricted.rows
    assert {5, 2001} <= {row[0] for row in answer.rows}
    assert answer.scan.files_considered == 2 * FILES
    assert answer.scan.files_kept < FILES
