"""What an engine says of predicates over rows: the judge of every rule that prunes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """What a predicate gives for each of N rows.

    truths: N booleans, null where the predicate is NULL.
    filter: the predicate as the engine's own client sends it to the pruning service, if it has one:
        the Thrift nodes, serialized (compact protocol) as a `PruneRequest` with that filter.
    failed: the numbers of the rows that make it fail, where that does not refuse it as a whole.
    """

    truths: pa.BooleanArray
    filter: bytes | None = None
    failed: Sequence[int] = ()


@dataclass(frozen=True)
class Refusal:
    """Why an engine cannot evaluate a predicate: it does not parse, or a row makes it fail."""

    reason: str


Judgement: TypeAlias = Answer | Refusal


@dataclass(frozen=True)
class Circumstances:
    """What else decides what a predicate gives.

    zone: the session's IANA zone. settings: of the engine, by their names.
    """

    zone: str = "UTC"
    settings: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """An engine that evaluates predicates over rows itself."""

    def judge(
        self, rows: pa.Table, predicates: Sequence[str], circumstances: Circumstances
    ) -> list[Judgement]:
        """What each predicate gives for the rows, in order; one that fails fails alone."""
