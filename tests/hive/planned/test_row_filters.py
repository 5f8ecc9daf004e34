"""Hive's authoriser hides rows and masks columns: what it hides is in no answer and in no plan.

Rows are compared with those that the same user gets without pruning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import HIVE_LIB, aux_jars
from devtools.service import ServiceProcess
from devtools.tables import HudiTable, TableType
from tests.hive.planned.conftest import FILES, ROWS, stops_table
from tests.hive.session_jars import compiled_jar

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

_SOURCE = Path(__file__).with_name("RowFilters.java")
_SECURITY = "hive.security"
POLICY: Mapping[str, str] = {
    f"{_SECURITY}.authorization.enabled": "true",
    f"{_SECURITY}.authorization.manager": _SOURCE.stem,
    f"{_SECURITY}.authenticator.manager": "org.apache.hadoop.hive.ql.security"
    ".SessionStateUserAuthenticator",
    "row.filter.fact": "id < 1500 AND stop % 2 = 0",
    "column.mask.fact.amount": "CAST(0 AS bigint)",
    "column.mask.fact.code": "NULL",
    # No condition of keys: without care, plans would have those of all stops of a line.
    "row.filter.stops": "line % 7 <> 2",
}
OWNER, READER = "owner", "reader"
VISIBLE = 750
HIDDEN_KEYS = ("800", "1160")
"""Keys of the stops of line 2, the first one and the last one."""
JOINED = "SELECT f.id, s.name FROM fact f JOIN stops s ON f.stop = s.k WHERE s.line = 2"

Rows = Sequence[tuple[object, ...]]


class Sessions:
    """What users see of the tables `fact` and `stops`."""

    def __init__(self, server: HiveServer, service: ServiceProcess) -> None:
        self._server = server
        self._settings = {
            "hudi.pruning.service.addresses": service.address,
            "hudi.pruning.timeout.ms": "30000",
        }

    def rows(self, user: str, statement: str, engine: str, *, pruning: bool = True) -> Rows:
        """The rows of a statement."""
        own = {**ENGINES[engine], "hudi.pruning.enabled": str(pruning).lower()}
        with self._server.session({**self._settings, **own}, user) as session:
            return session.run(statement)

    def plan(self, user: str, query: str) -> str:
        """What EXPLAIN says."""
        return "\n".join(str(row[0]) for row in self.rows(user, f"EXPLAIN {query}", "tez"))


@pytest.fixture(scope="module")
def sessions(
    fact_table: HudiTable,
    spark: SparkSession,
    pruning_service: ServiceProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Sessions]:
    """A HiveServer2 whose authoriser knows a policy for `reader`."""
    root = tmp_path_factory.mktemp("row-filters")
    stops = stops_table(spark, root, "stops", TableType.MOR)
    policy = compiled_jar(_SOURCE, HIVE_LIB, tmp_path_factory.mktemp("policy"))
    with HiveServer(root / "server", jars=(*aux_jars(), policy), settings=POLICY) as server:
        with server.session(user=OWNER) as session:
            session.run(create_with_handler("fact", fact_table.path))
            session.run(create_with_handler("stops", stops.path))
        yield Sessions(server, pruning_service)


@pytest.mark.parametrize("engine", ["fetch", "tez"])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*), min(id), max(id), sum(amount) FROM fact", [(VISIBLE, 0, 1498, 0)]),
        ("SELECT count(*) FROM fact WHERE amount = 0", [(VISIBLE,)]),
        ("SELECT id FROM fact WHERE amount = 700", []),
        ("SELECT id, amount, code FROM fact WHERE id IN (98, 99, 1600)", [(98, 0, None)]),
        ("SELECT id FROM fact WHERE code = 's000098'", []),
        ("SELECT id FROM fact ORDER BY id DESC LIMIT 3", [(1498,), (1496,), (1494,)]),
        ("SELECT max(amount), count(DISTINCT line) FROM fact, stops WHERE k = stop", [(0, 3)]),
        ("SELECT line, count(*) FROM stops GROUP BY line HAVING line < 4", None),
        (JOINED, []),
    ],
)
def test_a_reader_sees_what_the_policy_lets_through(
    sessions: Sessions, engine: str, query: str, rows: Rows | None
) -> None:
    unpruned = sessions.rows(READER, query, engine, pruning=False)
    pruned = sessions.rows(READER, query, engine)
    assert sorted(map(repr, pruned)) == sorted(map(repr, unpruned))
    if rows is not None:
        assert pruned == rows


def test_hidden_rows_are_in_no_plan(sessions: Sessions) -> None:
    """The owner's plan has the keys of their rows, and the reader's must not."""
    of_owner, of_reader = sessions.plan(OWNER, JOINED), sessions.plan(READER, JOINED)
    assert f"reads 4 of {FILES} files" in of_owner
    assert all(key in of_owner for key in HIDDEN_KEYS)
    assert not any(key in of_reader for key in HIDDEN_KEYS)
    other_line = JOINED.replace("= 2", "= 1")
    assert f"reads 4 of {FILES} files" not in sessions.plan(READER, other_line)


def test_the_owner_sees_all_rows(sessions: Sessions) -> None:
    assert sessions.rows(OWNER, "SELECT count(*) FROM fact", "tez") == [(ROWS,)]
    assert len(sessions.rows(OWNER, JOINED, "tez")) == 10
