"""Many concurrent clients, and queries while a writer commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.hiveserver import ENGINES
from devtools.matrix import Matrices
from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from tests.hive.expected_rows import Truths, for_hive
from tests.hive.query_results import FETCH, MR, TEZ, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

CLIENTS = 50
QUERIES_EACH = 1
PREDICATES = (
    *("id = 5005", "ti BETWEEN 10 AND 12", "s >= 'updated_'", "u LIKE '日本%'", "b IS NULL"),
    *("dt < DATE '1970-01-01'", "st.a = -1", "dec38 BETWEEN -1 AND 1", "n < 0", "none = 1"),
    *("ts >= TIMESTAMP '2020-01-01 00:00:00'", "p = 'p1' AND s >= 'updated_'"),
)


def test_fifty_clients_at_once(hive: Hive, spark: SparkSession, matrices: Matrices) -> None:
    names = [hive.register(matrices.get(type_).table) for type_ in TableType]
    truths = Truths(hive, spark, PREDICATES)
    expected = {(name, text): truths.in_hive(name, text) for name in names for text in PREDICATES}
    together = threading.Barrier(CLIENTS)

    def client(number: int) -> list[tuple[str, str, frozenset[int], bool]]:
        # Two run heavy queries, the others look rows up.
        engine = {0: TEZ, 1: MR}.get(number, FETCH)
        found = []
        with hive.session(ENGINES[engine]) as session:
            together.wait(300)
            for n in range(QUERIES_EACH if engine == FETCH else 2):
                name = names[(number + n) % 2]
                text = PREDICATES[(number * QUERIES_EACH + n) % len(PREDICATES)]
                answer = session.query(f"SELECT id FROM {name} WHERE {for_hive(text)}")
                ids = frozenset(row[0] for row in answer.rows)
                pruned = answer.scan.files_kept < answer.scan.files_considered
                found.append((name, text, ids, pruned))
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = [answer for client in pool.map(client, range(CLIENTS)) for answer in client]
    assert len(answers) == (CLIENTS - 2) * QUERIES_EACH + 2 * 2
    for name, text, ids, pruned in answers:
        assert ids == expected[name, text], text
        assert pruned, text


FILES, ROWS, COMMITS = 8, 5, 4


class Writer:
    """Commits to a table: commit `c` sets the row of each file that ends in 0 to 100 c."""

    def __init__(self, spark: SparkSession, type_: TableType, parent: Path) -> None:
        self._spark = spark
        spec = TableSpec(f"moving_{type_.name.lower()}", type_)
        values = [(10 * k + r, 0 if r == 0 else -k, k) for k in range(FILES) for r in range(ROWS)]
        self.table: HudiTable = create(self._frame(values, FILES), spec, parent)
        self.committed = 0

    def commit(self) -> None:
        following = self.committed + 1
        values = [(10 * k, 100 * following, k) for k in range(FILES // 2)]
        upsert(self.table, self._frame(values, 1))
        self.committed = following

    def _frame(self, values: Sequence[tuple[int, int, int]], files: int) -> DataFrame:
        rows = self._spark.sparkContext.parallelize(values, files)
        return self._spark.createDataFrame(rows, "id long, v int, k int")


MOVING = [10 * k for k in range(FILES // 2)]


@pytest.mark.parametrize("type_", [TableType.MOR, long(TableType.COW)])
def test_queries_while_a_writer_commits(
    hive: Hive, spark: SparkSession, table_root: Path, type_: TableType
) -> None:
    writer = Writer(spark, type_, table_root)
    name = hive.register(writer.table)
    writer.commit()
    outcomes = []
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(repeat, writer.commit, COMMITS)
        while True:
            last_round = done.done()
            before = writer.committed
            answer = hive.query(f"SELECT id, v FROM {name} WHERE v > {100 * before - 1}")
            after = writer.committed + 1
            # The rows after a commit that was the newest at some time during the query.
            (value,) = {row[1] for row in answer.rows}
            assert sorted(row[0] for row in answer.rows) == MOVING
            assert 100 * before <= value <= 100 * after
            outcomes.append((answer.scan.outcomes, answer.files))

            answer = hive.query(f"SELECT id FROM {name} WHERE v = {100 * before} AND id < 1000")
            assert sorted(row[0] for row in answer.rows) in ([], MOVING)
            answer = hive.query(f"SELECT id, v FROM {name} WHERE v BETWEEN -7 AND -6")
            assert len(answer.rows) == 2 * (ROWS - 1)
            if last_round:
                break
        done.result()
    assert len(outcomes) > 2
    assert any(kept < considered for _, (considered, kept) in outcomes)
    final = hive.query(f"SELECT id, v FROM {name} WHERE v >= {100 * writer.committed}")
    assert sorted(row[0] for row in final.rows) == MOVING
    assert final.scan.outcomes == ("PRUNED",)


def repeat(action: Callable[[], None], times: int) -> None:
    for _ in range(times):
        action()
