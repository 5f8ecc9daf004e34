"""An engine that evaluates predicates over rows; pruning rules are checked against its results."""

from __future__ import annotations

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


@dataclass(frozen=True)
class SessionOptions:
    """The session's options that affect the value of a predicate.

    zone: the session's IANA zone. settings: the engine's settings by name.
    """

    zone: str = "UTC"
    settings: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """An engine that evaluates predicates over rows."""

    def evaluate(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> list[EvaluationResult]:
        """Evaluates the predicates in order. One that fails does not affect the others."""
