"""What two writers do to one table at the same time.

Each has its own share of the ids, so that the rows in the end do not depend on who came first. As
a program this is the writer without our extension: it has the table and its options from the
standard input, a line of JSON, begins then, and prints how many attempts each change took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from devtools.spark import SHORT_QUERIES, spark_session

FILES, ROWS_OF_FILE, ROUNDS = 6, 40, 2
FIRST_NEW, NEW = 1000, 8
_OTHERS = "id * 7 % 400 AS a, id % 2 AS p"
ROWS = f"""
SELECT id, 'c' || (id div 10) AS city, {_OTHERS} FROM range(0, {FILES * ROWS_OF_FILE}, 1, {FILES})
"""
SHARED: Mapping[str, str] = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
    "hoodie.write.lock.client.wait_time_ms_between_retry": "300",
    "hoodie.write.lock.wait_time_ms_between_retry": "300",
    "hoodie.write.lock.client.num_retries": "100",
}
"""What every writer of such a table has to say."""

_CONFLICT = (
    "ConflictException",
    "ConcurrentModificationException",
    # Hudi 1.2 says so to a writer whose index another one has deleted since it began.
    "should be part of inflight metadata partitions",
)
_ATTEMPTS = 30


class Operation(str, Enum):
    """What becomes of the rows."""

    UPSERT = "upsert"
    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True)
class Change:
    """One commit: these ids get this city, or are deleted."""

    operation: Operation
    ids: Sequence[int]
    city: str = ""

    def query(self) -> str:
        """The rows as a query."""
        values = ", ".join(f"({number}L)" for number in self.ids)
        return f"SELECT id, '{self.city}' AS city, {_OTHERS} FROM VALUES {values} AS v(id)"


def changes(share: int) -> Iterator[Change]:
    """The changes of the writer with one of two shares; both change rows of the same files."""
    for number in range(ROUNDS):
        own = [id_ for id_ in _ids(2 * number % FILES) if id_ // 2 % 2 == share]
        yield Change(Operation.UPSERT, own, f"w{share}r{number}")
        first = FIRST_NEW + NEW * (2 * number + share)
        yield Change(Operation.INSERT, range(first, first + NEW), "new")
        gone = [id_ for id_ in _ids((2 * number + 3) % FILES) if id_ // 2 % 4 == share]
        yield Change(Operation.DELETE, gone)


def _ids(file: int) -> range:
    return range(ROWS_OF_FILE * file, ROWS_OF_FILE * (file + 1))


def rows_at_last() -> list[tuple[int, str]]:
    """The ids and cities after all changes of both."""
    rows = {number: f"c{number // 10}" for number in range(FILES * ROWS_OF_FILE)}
    for change in [*changes(0), *changes(1)]:
        for number in change.ids:
            rows[number] = change.city
            if change.operation is Operation.DELETE:
                del rows[number]
    return sorted(rows.items())


def write_all(share: int, write: Callable[[Change], None]) -> list[int]:
    """Write the changes of a share, each until it meets no conflict; return the attempts."""
    return [_attempts(write, change) for change in changes(share)]


def _attempts(write: Callable[[Change], None], change: Change) -> int:
    for attempt in range(1, _ATTEMPTS):
        if _is_written(write, change):
            return attempt
    raise AssertionError(f"{change} has met a conflict {_ATTEMPTS} times")


def _is_written(write: Callable[[Change], None], change: Change) -> bool:
    try:
        write(change)
    except (Py4JJavaError, PySparkException) as error:
        if not any(name in str(error) for name in _CONFLICT):
            raise
        return False
    return True


def by_statements(spark: SparkSession, table: str) -> Callable[[Change], None]:
    """Writes by SQL alone, into a table of the catalog; deletes refresh the extension's indexes."""

    def write(change: Change) -> None:
        follows = change.operation is Operation.DELETE
        spark.conf.set("pyhudi.indexes.follow", str(follows).lower())
        match change.operation:
            case Operation.UPSERT:
                spark.sql(
                    f"MERGE INTO {table} t USING ({change.query()}) s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                )
            case Operation.INSERT:
                spark.sql(f"INSERT INTO {table} {change.query()}")
            case Operation.DELETE:
                listed = ", ".join(map(str, change.ids))
                spark.sql(f"DELETE FROM {table} WHERE id IN ({listed})")

    return write


def by_frames(
    spark: SparkSession, uri: str, options: Mapping[str, str]
) -> Callable[[Change], None]:
    """Writes DataFrames into a path."""

    def write(change: Change) -> None:
        frame = spark.sql(change.query()).write.format("hudi").options(**options)
        frame.option("hoodie.datasource.write.operation", change.operation.value).mode(
            "append"
        ).save(uri)

    return write


def main() -> None:
    """Write the second share, without our extension."""
    with spark_session("outsider", heap="1g", cores=1, settings=SHORT_QUERIES) as spark:
        assert "pyhudi" not in spark.conf.get("spark.sql.extensions")
        print("ready", flush=True)
        given = json.loads(sys.stdin.readline())
        attempts = write_all(1, by_frames(spark, given["uri"], given["options"]))
        print(json.dumps(attempts), flush=True)


if __name__ == "__main__":
    main()
