"""An engine that evaluates predicates over rows; pruning rules are checked against its results."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """The truth value of a predicate for each of N rows.

    truths: N booleans, null where the predicate is NULL.
    filter: the predicate as the engine's own client sends it to the pruning service, if it has one:
        the Thrift nodes, serialized (compact protocol) as a `PruneRequest` with that filter.
    failed: indexes of the rows for which evaluation fails, unless that refuses the whole predicate.
    """

    truths: pa.BooleanArray
    filter: bytes | None = None
    failed: Sequence[int] = ()


@dataclass(frozen=True)
class Refusal:
    """Why an engine cannot evaluate a predicate: it does not parse, or fails for a row."""

    reason: str


EvaluationResult: TypeAlias = Answer | Refusal


class Place(enum.Enum):
    """Where Hive reads rows and evaluates predicates."""

    FETCH = "the fetch task"
    LOCAL = "a task in HiveServer2's JVM"
    CONTAINER = "a task in a JVM of its own"


@dataclass(frozen=True)
class Analysis:
    """What Spark's analyser takes of the session in which a view or a DataFrame is made.

    as_view: a temporary view is made there, and read later; otherwise a DataFrame.
    """

    zone: str
    settings: Mapping[str, str]
    as_view: bool


@dataclass(frozen=True)
class SessionOptions:
    """What the value of a predicate depends on, beside the predicate and the row.

    zone: the session's zone. settings: the engine's settings by name.
    server_zone, task_zone: Hive's: the zones of the JVMs of HiveServer2 and of the task, if they
        are not the session's.
    place: Hive's.
    analysis: Spark's, if the predicate is not analysed in the session that runs it.
    """

    zone: str = "UTC"
    settings: Mapping[str, str] = field(default_factory=dict)
    server_zone: str | None = None
    task_zone: str | None = None
    place: Place = Place.LOCAL
    analysis: Analysis | None = None

    @property
    def reader_zone(self) -> str:
        """The zone in which stored instants become wall clocks."""
        return self.task_zone or self.zone

    @property
    def zones(self) -> Sequence[str]:
        """All zones of the session."""
        analysing = None if self.analysis is None else self.analysis.zone
        found = (self.zone, self.server_zone, self.task_zone, analysing)
        return [one for one in dict.fromkeys(found) if one is not None]

    def __str__(self) -> str:
        parts = [f"zone {self.zone}", *(f"{name}={value}" for name, value in self.settings.items())]
        if self.task_zone is not None:
            parts += [f"HiveServer2 in {self.server_zone}", f"{self.place.value}: {self.task_zone}"]
        if self.analysis is not None:
            parts.append(f"analysed under {self.analysis}")
        return ", ".join(parts)


class Engine(Protocol):
    """An engine that evaluates predicates over rows."""

    def evaluate(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> list[EvaluationResult]:
        """Evaluates the predicates in order. One that fails does not affect the others."""
