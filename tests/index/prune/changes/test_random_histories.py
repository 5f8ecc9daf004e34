"""Random histories of tables: whatever writers and table services do, no matching row is lost, and
an audit of the metadata finds nothing.

TEST_LIVES=N runs N histories instead of one (about half a minute each); each run draws new ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from tests.index.prune.changes.direct_lookups import looked_up_directly
from tests.index.prune.changes.test_long_lived_pruner import (
    PREDICATES,
    call_procedure,
    overwrite_partitions,
    remove_completion,
    rows,
)
from tests.index.prune.changes.test_table_services import MANUAL, newest
from tests.index.prune.matching_slices import Group, assert_no_row_lost, groups_with_matches, read
from tests.index.prune.same_snapshots import assert_as_made_anew, small_tables_followed
from tests.service.service_process import Process

pytestmark = pytest.mark.spark

LIVES = int(os.environ.get("TEST_LIVES", "1"))
STEPS = 6
WORKERS = 2

ids = st.lists(st.integers(0, 79), min_size=1, max_size=6, unique=True)
values = st.sampled_from(["id + 1000", "-id", "5", "cast(null as int)", "id"])
texts = st.sampled_from(["'new ' || id", "cast(null as string)", "''", "'row 7'"])


class TableHistory(RuleBasedStateMachine):
    """A table and three pruners: a long-lived one, a new one for each check, and one with look-ups
    in the indexes' files, by certificates that are extended from step to step.

    predicates: those that are checked.
    service: the port of a service that is asked as well, if there is one.
    """

    predicates: ClassVar[Sequence[str]] = PREDICATES
    spark: ClassVar[SparkSession]
    root: ClassVar[Path | str]
    service: ClassVar[int | None] = None

    table: HudiTable
    changed = True

    @initialize(
        type_=st.sampled_from(TableType),
        version=st.sampled_from([6, 8, 9]),
        compacted=st.sampled_from(["2", "10"]),
    )
    def begin(self, type_: TableType, version: int, compacted: str) -> None:
        extra = {**MANUAL, "hoodie.metadata.compact.max.delta.commits": compacted}
        self.create(TableSpec("life", type_, version, partitions=("p",), extra=extra))

    def create(self, spec: TableSpec) -> None:
        self.table = create(rows(self.spark, "true"), spec, self.root)
        self.spark.sql("DROP TABLE IF EXISTS life")
        self.spark.sql(f"CREATE TABLE life USING hudi LOCATION '{self.table.uri}'")
        self.pruner = Pruner(PruneOptions(footer_wait=20))
        self.writes = 0

    @rule(some=ids, x=values, s=texts)
    def write(self, some: list[int], x: str, s: str) -> None:
        upsert(self.table, rows(self.spark, f"id in ({comma_separated(some)})", x=x, s=s))
        self.writes, self.changed = self.writes + 1, True

    @rule(some=ids)
    def forget(self, some: list[int]) -> None:
        delete(self.table, rows(self.spark, f"id in ({comma_separated(some)})"))
        self.writes, self.changed = 0, True

    @rule(first=st.integers(0, 79), x=values)
    def replace_partitions(self, first: int, x: str) -> None:
        overwrite_partitions(
            self.table, rows(self.spark, f"id between {first} and {first + 3}", x=x)
        )
        self.writes, self.changed = 0, True

    @rule(some=ids, x=values)
    def fail_to_write(self, some: list[int], x: str) -> None:
        upsert(self.table, rows(self.spark, f"id in ({comma_separated(some)})", x=x))
        put_back = remove_completion(self.table)
        assert_no_row_lost(self.pruner, self.table.uri, self._rows(), PREDICATES)
        put_back()
        self.writes, self.changed = 0, True

    @rule(column=st.sampled_from(["x", "s", "d"]))
    def cluster(self, column: str) -> None:
        self._call(f"run_clustering(path => '{self.table.uri}', order => '{column}')")

    @precondition(lambda self: self.table.spec.type is TableType.MOR)
    @rule(operation=st.sampled_from(["schedule", "run"]))
    def compact(self, operation: str) -> None:
        self._call(f"run_compaction(op => '{operation}', path => '{self.table.uri}')")

    @rule()
    def clean(self) -> None:
        self._call("run_clean(table => 'life', retain_commits => 1)")

    # Hudi can roll back a commit only if nothing was built on it.
    @precondition(lambda self: self.writes > 0)
    @rule()
    def roll_back(self) -> None:
        instant = newest(self.table)
        self._call(f"rollback_to_instant(table => 'life', instant_time => '{instant}')")

    @invariant()
    def no_row_is_lost(self) -> None:
        if self.changed:
            frame = self._rows().cache()
            kept = assert_no_row_lost(self.pruner, self.table.uri, frame, self.predicates)
            fresh = Pruner(PruneOptions(footer_wait=20))
            assert assert_no_row_lost(fresh, self.table.uri, frame, self.predicates) == kept
            with looked_up_directly():
                direct = Pruner(PruneOptions(footer_wait=20))
                assert_no_row_lost(direct, self.table.uri, frame, self.predicates)
            if self.service is not None:
                expected = groups_with_matches(frame, self.predicates)
                assert_the_service_loses_no_row(self.service, self.table.uri, expected)
            frame.unpersist()
            assert_as_made_anew(self.pruner, self.table.uri, self.predicates)
            found = audit(OpenedTable.open(self.table.uri), AuditOptions())
            assert found.findings == (), found.unchecked
        self.changed = False

    def _call(self, procedure: str) -> None:
        call_procedure(self.spark, procedure, self.table)
        self.writes, self.changed = 0, True

    def _rows(self) -> DataFrame:
        return read(self.spark, self.table.uri)


def comma_separated(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def assert_the_service_loses_no_row(
    port: int, path: str, expected: Mapping[str, set[Group]]
) -> None:
    """Asserts that each worker keeps the file groups with a matching row, by predicate."""
    for _ in range(WORKERS):  # the next connection is the next worker's
        with PruningClient(port=port, timeout=60) as client:
            for text, groups in expected.items():
                answer = client.send(
                    ttypes.PruneRequest(
                        protocolVersion=PROTOCOL_VERSION,
                        requestId="life",
                        basePath=path,
                        filter=encode(parse_predicate(text)),
                        view=ttypes.TableView.SNAPSHOT,
                        semantics=encode_semantics(here("UTC")),
                        listKept=True,
                    )
                )
                assert answer.status == ttypes.PruneStatus.OK, answer.message
                places = np.repeat(answer.kept.partitions, answer.kept.partitionSlices).tolist()
                kept = set(zip(places, answer.kept.fileIds, strict=True))
                assert groups <= kept, f"{path}: {text!r} loses {groups - kept}"


@pytest.mark.smoke
@pytest.mark.timeout(0)
def test_random_histories_lose_no_row(spark: SparkSession, tmp_path: Path) -> None:
    TableHistory.spark, TableHistory.root = spark, tmp_path
    service = Process(tmp_path, workers=WORKERS, footers=True, footer_wait=20)
    TableHistory.service = service.port
    try:
        run_histories(TableHistory, LIVES)
        assert service.stop() == 0
    finally:
        TableHistory.service = None
        service.kill()


def run_histories(life: type[TableHistory], times: int) -> None:
    """Runs this many random histories. A single one is always the same."""
    with small_tables_followed():
        _run(life, times)


def _run(life: type[TableHistory], times: int) -> None:
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=times,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=times == 1,
            # Shrinking a history would run as many others.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
