"""Our nodes in Spark's plans keep what Spark expects of a node, whatever else the session does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.service import ServiceProcess
from devtools.spark import session_settings
from tests.spark.extension.conftest import pruned_by
from tests.spark.extension.scans import plan_text
from tests.spark.statements.test_statements import written

pytestmark = pytest.mark.spark

_TABLE = "noted"
_FOLLOWED = {"pyhudi.indexes.follow": "true"}
_OUR_RULES = ",".join(
    f"io.pyhudi.spark.{name}"
    for name in (
        "writes.KeepIndexes",
        "read.HudiSkippingOff",
        "read.PruneRelations",
        "read.RuntimeConditions$IntoScans",
    )
)
_PLAN_CHANGES = {
    "spark.sql.planChangeLog.level": "ERROR",
    "spark.sql.planChangeLog.rules": _OUR_RULES,
}
_SHOW = f"SHOW INDEXES FROM {_TABLE}"
_UPDATE = f"UPDATE {_TABLE} SET a = a + 1 WHERE id = 7"
_SELECT = f"SELECT id, a FROM {_TABLE} WHERE city = 'c3'"
_MODES = ("", "EXTENDED", "CODEGEN", "COST", "FORMATTED")


@pytest.fixture
def noted(
    session: SparkSession, pruning_service: ServiceProcess, tmp_path: Path
) -> Iterator[SparkSession]:
    """The session with pruning, and a table with an index that follows its writes."""
    table = written(session, tmp_path, _TABLE)
    session.sql(
        f"CREATE INDEX cities ON '{table.uri}' USING secondary_index(city)"
        " OPTIONS (store = 'extension')"
    )
    with session_settings(session, {**pruned_by(pruning_service.address), **_FOLLOWED}):
        yield session


@contextmanager
def a_cached_frame(session: SparkSession) -> Iterator[None]:
    frame = session.range(5).cache()
    frame.count()
    yield
    frame.unpersist()


@contextmanager
def the_cached_table(session: SparkSession) -> Iterator[None]:
    session.sql(f"CACHE TABLE {_TABLE}")
    yield
    session.sql(f"UNCACHE TABLE {_TABLE}")


@contextmanager
def a_cached_result(session: SparkSession) -> Iterator[None]:
    shown = session.sql(_SHOW).cache()
    assert shown.where("store = 'extension'").count() == 1
    yield
    shown.unpersist()


def settings(values: dict[str, str]) -> Callable[[SparkSession], AbstractContextManager[None]]:
    return lambda session: session_settings(session, values)


_SITUATIONS: dict[str, Callable[[SparkSession], AbstractContextManager[None]]] = {
    "a cached frame": a_cached_frame,
    "the cached table": the_cached_table,
    "a cached result": a_cached_result,
    "no adaptive execution": settings({"spark.sql.adaptive.enabled": "false"}),
    "adaptive execution": settings({"spark.sql.adaptive.enabled": "true"}),
    "plan changes logged": settings(_PLAN_CHANGES),
}


@pytest.mark.smoke("the cached table")
@pytest.mark.parametrize("situation", _SITUATIONS.values(), ids=_SITUATIONS.keys())
def test_statements_writes_and_reads_work_in_each_session(
    noted: SparkSession, situation: Callable[[SparkSession], AbstractContextManager[None]]
) -> None:
    with situation(noted):
        before: dict[int, int] = dict(noted.sql(f"SELECT id, a FROM {_TABLE}").collect())
        noted.sql(_UPDATE)
        assert {("cities", "active")} <= {
            (row.index_name, row.state) for row in noted.sql(_SHOW).collect()
        }
        expected = {id_: before[id_] + (id_ == 7) for id_ in range(30, 40)}
        assert dict(noted.sql(_SELECT).collect()) == expected
        seventh = noted.sql(f"SELECT a FROM {_TABLE} WHERE id = 7").collect()
        assert [row.a for row in seventh] == [before[7] + 1]


def test_explain_has_the_statement_and_the_files(noted: SparkSession) -> None:
    for mode in _MODES:
        statement, _, _, query = (
            noted.sql(f"EXPLAIN {mode} {text}").collect()[0][0]
            for text in (_SHOW, f"OPTIMIZE {_TABLE} ZORDER BY (a)", _UPDATE, _SELECT)
        )
        if mode != "CODEGEN":  # that shows generated code alone
            assert _SHOW in statement
            assert "[pruning PRUNED, reads 1 of 4 files" in query
    assert noted.sql(f"SELECT count(*) FROM {_TABLE}").head() == (400,)
    assert "[pruning PRUNED, reads 1 of 4 files" in plan_text(noted.sql(_SELECT))


def test_each_node_is_copied_compared_and_shown(noted: SparkSession) -> None:
    state = noted._jsparkSession.sessionState()
    statement = state.sqlParser().parsePlan(_SHOW)
    assert statement.getClass().getSimpleName() == "StatementCommand"
    followed = executed(noted, _UPDATE).analyzed()
    assert followed.getClass().getSimpleName() == "FollowedWrite"
    for node, again in (
        (statement, state.sqlParser().parsePlan(_SHOW)),
        (followed, followed),
        (executed(noted, _SELECT).optimizedPlan(), executed(noted, _SELECT).optimizedPlan()),
        (executed(noted, _SELECT).sparkPlan(), executed(noted, _SELECT).sparkPlan()),
    ):
        copy = node.clone()
        identity = noted._jvm.System.identityHashCode
        assert identity(copy) != identity(node)
        assert copy.equals(node)
        assert copy.hashCode() == node.hashCode()
        assert node.withNewChildren(node.children()).equals(node)
        assert node.canonicalized().equals(copy.canonicalized())
        assert node.sameResult(copy)
        assert node.sameResult(again)
        assert node.semanticHash() == again.semanticHash()
        assert node.treeString()
        assert node.toJSON()
    other = state.sqlParser().parsePlan(f"REFRESH INDEXES ON {_TABLE}")
    assert not statement.sameResult(other)
    assert not statement.equals(other)


def executed(session: SparkSession, text: str) -> Any:
    """The execution of a query or a command that has not run."""
    state = session._jsparkSession.sessionState()
    jvm: Any = session._jvm
    modes = getattr(jvm.org.apache.spark.sql.execution, "CommandExecutionMode$")
    skip = getattr(modes, "MODULE$").SKIP()
    return state.executePlan(state.sqlParser().parsePlan(text), skip)
