"""A statement of Spark that dies at any of its writing requests loses nothing.

The object store gets neither that request nor a later one, whether of the driver, of its JVM or of
its tasks, and the driver runs no further than to its next request. A Spark session takes too long
to start for each death, so the driver is not killed; its id in locks and plans is that of a process
that has ended. `tests/manage/indexing/test_every_death.py` really kills what needs no Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from devtools.s3.proxy import RecordingProxy
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.manage.layout import Layout
from pyhudi_expr.manage.layout.selection import Size
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.clustering import write_client
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.query.dataframes import prune_table
from pyhudi_expr.spark.virtual_keys.rewriting import restore, rewrite
from pyhudi_expr.tables import process_owner
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.keys.key_storage import key_storage
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage
from tests.failure_fixtures import Killed
from tests.marks import long
from tests.spark.virtual_keys.test_rollout import Hudi
from tests.spark.virtual_keys.virtual_tables import Rows, some, stored
from tests.stored_files import StoredFiles

pytestmark = [pytest.mark.spark, pytest.mark.s3, pytest.mark.timeout(0)]

_ROWS: Rows = {**some(0, 8, 1), **some(1, 3, 2)}
_PREDICATES: dict[str, Callable[[int, str], bool]] = {
    "v = 2": lambda value, _: value == 2,
    "v < 2 AND p = 'p1'": lambda value, partition: value < 2 and partition == "p1",
}
_OTHER = "ranges"
_LAYOUT = Layout(("k",))
_PATIENCE = 60.0
_INTERRUPT = "spark.job.interruptOnCancel"
Command = Callable[[SparkSession, str], object]


def insert(spark: SparkSession, uri: str) -> None:
    Hudi(spark, uri).write(some(0, 8, 1), "bulk_insert")


def update(spark: SparkSession, uri: str) -> None:
    Hudi(spark, uri).write(some(1, 3, 2), "upsert")


def statement(text: str) -> Command:
    return lambda spark, uri: execute(spark, text.format(uri))


def lay_out(spark: SparkSession, uri: str) -> None:
    cluster(spark, uri, _LAYOUT, ClusterOptions(size=Size(files=4)))


def enable_virtual_keys(_spark: SparkSession, uri: str) -> None:
    table = HudiTable.open(uri)
    enable(table, VirtualKeySettings(), TableLock(table.storage))


def rewrite_without_keys(spark: SparkSession, uri: str) -> None:
    rewrite(spark, uri, None, 1, lambda *_: None)


def restore_keys(spark: SparkSession, uri: str) -> None:
    """A command that ended before its process died leaves nothing to restore."""
    if is_virtual(HudiTable.open(uri).properties):
        restore(spark, uri)


def state_of(name: str, uri: str) -> State | None:
    found = index_statuses(HudiTable.open(uri))
    return next((status.state for status in found if status.name == name), None)


def layout_of(uri: str) -> object:
    table = HudiTable.open(uri)
    return table.timeline.pending, table.listing().num_slices, state_of(_OTHER, uri)


def keys_of(uri: str) -> object:
    table = HudiTable.open(uri)
    found, is_stored = key_storage(table), table.properties.meta_fields
    files = found.files_with_keys, found.files
    return is_virtual(table.properties), is_stored, files, table.timeline.pending


@dataclass(frozen=True)
class Case:
    """A statement.

    Attributes:
        run: The statement; it can be repeated.
        earlier: Those that ran before.
        state: What the statement changes, of a base path.
    """

    run: Command
    earlier: tuple[Command, ...]
    state: Callable[[str], object]


_OWN = "own"
_RANGES = statement(
    f"CREATE INDEX {_OTHER} ON '{{}}' USING column_stats (v) OPTIONS (store = 'extension')"
)
_BUILD = statement(
    f"CREATE INDEX IF NOT EXISTS {_OWN} ON '{{}}' (p) OPTIONS (store = 'extension', shards = 2)"
)
_BUILD_OF_HUDI = statement(
    f"CREATE INDEX IF NOT EXISTS {_OWN} ON '{{}}' (p) OPTIONS (store = 'hudi', shards = 2)"
)
_WRITTEN = (insert, update, _RANGES)
_BUILT = partial(state_of, _OWN)
CASES = {
    "build Hudi's": Case(_BUILD_OF_HUDI, _WRITTEN, _BUILT),
    "build in the extension": Case(_BUILD, _WRITTEN, _BUILT),
    "refresh": Case(
        statement(f"REFRESH INDEX {_OWN} ON '{{}}'"), (insert, _RANGES, _BUILD, update), _BUILT
    ),
    "drop Hudi's": Case(
        statement(f"DROP INDEX IF EXISTS {_OWN} ON '{{}}'"), (*_WRITTEN, _BUILD_OF_HUDI), _BUILT
    ),
    "drop of the extension": Case(
        statement(f"DROP INDEX IF EXISTS {_OWN} ON '{{}}'"), (*_WRITTEN, _BUILD), _BUILT
    ),
    "cluster": Case(lay_out, _WRITTEN, layout_of),
    "leave keys out": Case(rewrite_without_keys, (*_WRITTEN, enable_virtual_keys), keys_of),
    "restore keys": Case(
        restore_keys, (*_WRITTEN, enable_virtual_keys, rewrite_without_keys), keys_of
    ),
}


class MortalDriver:
    """This process as the driver of a Spark session, which can die and live on."""

    def __init__(
        self, spark: SparkSession, proxy: RecordingProxy, patch: pytest.MonkeyPatch
    ) -> None:
        self._spark = spark
        self._proxy = proxy
        self._is_dead = threading.Event()
        for asking in (Storage, write_client):
            patch.setattr(asking, "_translated", self._mortal(asking._translated))

    def _mortal(
        self, translated: Callable[..., AbstractContextManager[None]]
    ) -> Callable[..., AbstractContextManager[None]]:
        """What all requests of the driver and all its calls of Hudi's client go through."""

        @contextmanager
        def mortal(*arguments: object) -> Iterator[None]:
            if self._is_dead.is_set():
                raise Killed
            with translated(*arguments):
                yield

        return mortal

    def writing_requests(self, command: Command, uri: str) -> int:
        """The number of a command's writing requests."""
        with self._proxy.recording() as recording:
            command(self._spark, uri)
        return sum(one.method in ("PUT", "POST", "DELETE") for one in recording.requests)

    def dies(self, command: Command, uri: str, n: int) -> bool:
        """Run a command that dies at its n-th writing request; return whether there was one."""
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        namespace = SimpleNamespace(getpid=lambda: ended.pid, kill=os.kill)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process_owner, "os", namespace)
            with self._proxy.die_at(n, self._die) as death:
                self._spark.sparkContext.setLocalProperty(_INTERRUPT, "true")
                try:
                    command(self._spark, uri)
                except (Killed, HudiError, PySparkException, Py4JError):
                    if not death.happened:
                        raise
                finally:
                    self._spark.sparkContext.setLocalProperty(_INTERRUPT, "false")
                    self._wait_for_tasks()
        self._is_dead.clear()
        return death.happened

    def _die(self) -> None:
        self._is_dead.set()
        self._spark.sparkContext.cancelAllJobs()

    def _wait_for_tasks(self) -> None:
        """Tasks of a cancelled job may still be at work."""
        tracker = self._spark.sparkContext._jsc.sc().statusTracker()
        give_up = time.monotonic() + _PATIENCE
        while any(one.numRunningTasks() for one in tracker.getExecutorInfos()):
            assert time.monotonic() < give_up
            time.sleep(0.02)


@pytest.fixture
def driver(
    spark_on_s3: SparkSession, s3_proxy: RecordingProxy, monkeypatch: pytest.MonkeyPatch
) -> MortalDriver:
    return MortalDriver(spark_on_s3, s3_proxy, monkeypatch)


@pytest.mark.parametrize(
    ("case", "every"), [("build Hudi's", False), *(long(name, True) for name in CASES)]
)
def test_nothing_is_lost_wherever_a_statement_dies(
    spark_on_s3: SparkSession, s3_bucket: str, driver: MortalDriver, case: str, every: bool
) -> None:
    """At each request until the statement lives on, or at the first, the last and one in between.

    The number of requests of a statement varies a little: Hudi merges some of them.
    """
    chosen, storage = CASES[case], Storage.open(f"s3a://{s3_bucket}/t")
    for earlier in chosen.earlier:
        earlier(spark_on_s3, storage.uri)
    template, before = StoredFiles.of_storage(storage), chosen.state(storage.uri)
    requests = driver.writing_requests(chosen.run, storage.uri)
    expected = chosen.state(storage.uri)
    assert expected != before
    assert requests > 5

    problems = []
    for n in count(1) if every else (1, 2 * requests // 3, requests):
        template.restore(storage)
        died = driver.dies(chosen.run, storage.uri, n)
        problems += [f"{n}: {one}" for one in seen_problems(spark_on_s3, storage.uri)]
        try:
            chosen.run(spark_on_s3, storage.uri)
        except HudiError as error:
            problems.append(f"{n}: the next run fails: {error}")
        else:
            problems += [f"{n}, next run: {one}" for one in seen_problems(spark_on_s3, storage.uri)]
            if (state := chosen.state(storage.uri)) != expected:
                problems.append(f"{n}: the next run leaves {state}, not {expected}")
        if not died:
            break
    assert n >= 0.9 * requests
    assert not problems, "\n".join(problems)


def seen_problems(spark: SparkSession, uri: str) -> Iterator[str]:
    """What Hudi and pruned queries read wrongly, and indexes that are gone."""
    if (found := stored(spark, uri)) != _ROWS:
        yield f"Hudi reads {found}"
    for text, holds in _PREDICATES.items():
        rows = prune_table(spark, uri, text).frame.select("k").collect()
        if {row.k for row in rows} != {key for key, row in _ROWS.items() if holds(*row)}:
            yield f"{text} finds {rows}"
    if state_of(_OTHER, uri) not in (State.ACTIVE, State.LAGGING):
        yield f"the index {_OTHER} is {state_of(_OTHER, uri)}"
