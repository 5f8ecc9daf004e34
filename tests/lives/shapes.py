"""What a life is made of: its kind of table, how it begins, and its steps, in one line of text."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from random import Random
from typing import Any, get_type_hints

from devtools.tables import TableType


class Beginning(Enum):
    """The state in which a life finds its table."""

    FRESH = "fresh"
    HUDI_1_0 = "hudi-1.0.2"
    """Hudi 1.0.2 wrote it, with an index of keys, and one of doubles in that version's spelling."""
    NATIVE_HFILES = "native-hfiles"
    """Its HFiles do not say that their cells end with a read point, though they do."""
    NO_FOLDER = "no-folder"
    """The metadata table that its properties declare is not there."""


class Keys(Enum):
    """Whether rows store their keys."""

    STORED = "stored"
    VIRTUAL = "virtual"


class Ordering(Enum):
    """Which of two versions of a row Hudi keeps."""

    EVENT_TIME = "event-time"
    COMMIT_TIME = "commit-time"


@dataclass(frozen=True)
class Shape:
    """A kind of table."""

    type: TableType = TableType.COW
    version: int = 9
    is_partitioned: bool = True
    keys: Keys = Keys.STORED
    ordering: Ordering = Ordering.EVENT_TIME
    has_cdc: bool = False
    has_statistics: bool = True
    has_small_files: bool = False
    has_partial_logs: bool = False
    """MERGE INTO writes the changed columns alone to log files, which `scan` refuses to merge.
    Hudi 1.2 cannot read them in tables with a column `_hoodie_is_deleted`, so there is none."""
    beginning: Beginning = Beginning.FRESH

    def text(self) -> str:
        """Return it without spaces, for `parsed`."""
        return ",".join(f"{one.name}={_text(getattr(self, one.name))}" for one in fields(self))


@dataclass(frozen=True)
class Step:
    """An operation with the seed of what it draws, so that it is the same without those before."""

    operation: str
    seed: int

    def text(self) -> str:
        return f"{self.operation}:{self.seed}"


@dataclass(frozen=True)
class Script:
    """A life that can be lived again."""

    shape: Shape
    steps: tuple[Step, ...]

    def text(self) -> str:
        """Return the line that `--replay` takes."""
        return " ".join((self.shape.text(), *(step.text() for step in self.steps)))


def drawn(random: Random, beginnings: tuple[Beginning, ...]) -> Shape:
    """Draw a kind of table."""
    shape = Shape(
        random.choice(list(TableType)),
        random.choice([6, 8, 9, 9]),
        random.random() < 0.7,
        Keys.VIRTUAL if random.random() < 0.2 else Keys.STORED,
        random.choice(list(Ordering)),
        random.random() < 0.15,
        random.random() < 0.7,
        random.random() < 0.3,
        random.random() < 0.1,
        random.choice(beginnings),
    )
    return _possible(shape)


def parsed(text: str) -> Script:
    """Return the script of a line. Raises ValueError if it is none."""
    shape, *steps = text.split()
    hints = get_type_hints(Shape)
    values = dict(pair.split("=", 1) for pair in shape.split(","))
    return Script(
        Shape(**{name: _value(hints[name], value) for name, value in values.items()}),
        tuple(Step(name, int(seed)) for name, seed in (step.rsplit(":", 1) for step in steps)),
    )


def _possible(shape: Shape) -> Shape:
    """Change what Hudi does not offer together."""
    if shape.keys is Keys.VIRTUAL or shape.version == 6:
        shape = replace(shape, has_cdc=False)
    if shape.type is TableType.COW or shape.version == 6:
        shape = replace(shape, has_partial_logs=False)
    if shape.beginning is Beginning.HUDI_1_0:
        shape = replace(shape, version=8, keys=Keys.STORED, has_statistics=True)
        return replace(shape, has_cdc=False, has_partial_logs=False)
    if shape.beginning is Beginning.NATIVE_HFILES:
        return replace(shape, version=9)
    return shape


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _value(type_: Any, text: str) -> Any:
    return text == "True" if type_ is bool else type_(text)
