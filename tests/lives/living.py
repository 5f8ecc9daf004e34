"""Lives: drawn so that operations meet, lived step by step, and ended by the first harm."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from tests.lives.beginnings import begin
from tests.lives.life import Harm, Inapplicable, Life, Refused
from tests.lives.operations import damage, hive, hudi_services, hudi_writes, our_commands, world
from tests.lives.operations.operation import Operation, Owner
from tests.lives.sessions import Sessions
from tests.lives.shapes import Script, Shape, Step
from tests.lives.witnesses import after_a_step, described, now_and_then, waits

OPERATIONS: Mapping[str, Operation] = {
    one.name: one
    for one in (
        *hudi_writes.OPERATIONS,
        *hudi_services.OPERATIONS,
        *our_commands.OPERATIONS,
        *damage.OPERATIONS,
        *hive.OPERATIONS,
        *world.OPERATIONS,
    )
}
_THOROUGH = 5
_SEEDS = 10**6
_NUMBERS = count()
"""Of the lives of this process: sessions know tables by their names."""


@dataclass
class Meetings:
    """Which operations have come after which in the same life."""

    pairs: set[tuple[str, str]] = field(default_factory=set)

    def wish(self, random: Random, life: Life, done: Sequence[str]) -> str:
        """Draw the next operation of those that can be done, by what it has not met yet."""
        possible = [one.name for one in OPERATIONS.values() if one.applies(life)]
        return random.choices(possible, self.weights(possible, done))[0]

    def weights(self, names: Sequence[str], done: Sequence[str]) -> list[int]:
        """How much each operation is wanted: by those done before that it has not met yet."""
        return [1 + sum((before, name) not in self.pairs for before in done) for name in names]

    def met(self, done: Sequence[str], name: str) -> None:
        """An operation has been done after others."""
        self.pairs |= {(before, name) for before in done}

    @property
    def total(self) -> int:
        return len(OPERATIONS) ** 2


@dataclass(frozen=True)
class Lived:
    """How a life ended.

    Attributes:
        script: Its steps, with the last one.
        harm: What it ended by; None if nothing was harmed.
        failure: What Hudi failed with, if it ended by that.
        notes: The last of each kind of what is no harm.
        refusals: What each operation that was refused said, the last time.
        seconds: How long it took.
    """

    script: Script
    harm: Harm | None
    failure: str
    notes: Mapping[str, str]
    refusals: Mapping[str, str]
    seconds: float

    @property
    def ending(self) -> str:
        """What it ended by, in a word; "" if its steps were over."""
        if self.harm is not None:
            return self.harm.witness
        return f"Hudi fails at {self.failure.partition(':')[0]}" if self.failure else ""


class _HudiError(Exception):
    """An operation of Hudi's failed."""


Source = Callable[[Life, Sequence[Step]], Iterator[Step]]
"""Yields steps for a life; the sequence grows by what has been done."""


def drawn_steps(
    random: Random, meetings: Meetings, number: int, ends_at: float = math.inf
) -> Source:
    """Steps that have not met yet: so many, and none after a moment of `time.monotonic`."""

    def steps(life: Life, done: Sequence[Step]) -> Iterator[Step]:
        while len(done) < number and time.monotonic() < ends_at:
            before = [step.operation for step in done]
            name = meetings.wish(random, life, before)
            yield Step(name, random.randrange(_SEEDS))
            meetings.met(before, name)

    return steps


def replayed(steps: Iterable[Step]) -> Source:
    """Those steps again; what cannot be done any more is left out."""

    def again(life: Life, _done: Sequence[Step]) -> Iterator[Step]:
        return (step for step in steps if OPERATIONS[step.operation].applies(life))

    return again


class Place:
    """Where tables live: each has a directory, and a name, of its own."""

    def __init__(self, root: Path, sessions: Sessions) -> None:
        self._root = root
        self._sessions = sessions

    def alone(self) -> Place:
        """The same place without our extension."""
        return Place(self._root / "alone", self._sessions.hudi_alone())

    def live(self, shape: Shape, source: Source) -> Lived:
        """Live a life until its steps end, or something ends it."""
        path = self._root / f"life{next(_NUMBERS)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        self._sessions.start_service()
        life = begin(shape, path, self._sessions, Random(shape.text()))
        done: list[Step] = []
        refusals: dict[str, str] = {}
        harm, failure = None, ""
        try:
            with life.registered():
                for step in source(life, done):
                    done.append(step)
                    if not _take(life, step, refusals, is_fifth=len(done) % _THOROUGH == 0):
                        done.pop()
                now_and_then(life, Random(len(done)))
        except Harm as found:
            harm = found
            life.note("the table is kept", _kept(path))
        except _HudiError as failed:
            failure = str(failed)
        finally:
            shutil.rmtree(path, ignore_errors=True)
        seconds = time.monotonic() - started
        return Lived(Script(shape, tuple(done)), harm, failure, life.notes, refusals, seconds)


def _kept(path: Path) -> str:
    """Copies a harmed table to where it stays, and returns the copy's path."""
    copy = Path(tempfile.mkdtemp(prefix="harmed-")) / path.name
    shutil.copytree(path, copy)
    return str(copy)


def _take(life: Life, step: Step, refusals: dict[str, str], *, is_fifth: bool) -> bool:
    """Take a step, and ask the witnesses; return False if there was nothing to do.

    Raises:
        Harm: A witness sees one.
        _HudiError: Hudi failed at an operation of its own.
    """
    operation, before = OPERATIONS[step.operation], life.indexes()
    life.model.remember("before the step")
    try:
        operation.run(life, Random(step.seed))
    except Inapplicable:
        return False
    except Refused as refused:
        refusals[operation.name] = str(refused)
    except Harm:
        raise
    except Exception as error:
        if waits(error):
            life.model.recall("before the step")
            refusals[operation.name] = described(error)
        elif operation.owner is Owner.HUDI:
            raise _HudiError(f"{operation.name}: {described(error)}") from error
        else:
            raise Harm("breakdown", f"{operation.name}: {described(error)}") from error
    after_a_step(life, operation, before)
    if is_fifth:
        now_and_then(life, Random(step.seed))
    return True
