"""The shortest life that ends in the same way."""

from __future__ import annotations

from random import Random

from tests.lives.life import Harm
from tests.lives.living import OPERATIONS, Lived, Meetings
from tests.lives.shapes import Script, Shape, Step
from tests.lives.shrinking import shortest

NAMES = [*OPERATIONS][:14]


def harmful(script: Script) -> Lived:
    """A life that ends at its first `insert` after an `upsert` and a `delete`."""
    seen: set[str] = set()
    for number, step in enumerate(script.steps, 1):
        if step.operation == "insert" and seen >= {"upsert", "delete"}:
            harm = Harm("rows", "lost")
            return Lived(Script(script.shape, script.steps[:number]), harm, "", {}, {}, 0.0)
        seen.add(step.operation)
    return Lived(script, None, "", {}, {}, 0.0)


def test_steps_that_do_not_matter_are_left_out() -> None:
    others = [name for name in NAMES if name not in ("insert", "upsert", "delete")]
    names = [*others[:5], "upsert", *others[5:8], "delete", *others[8:], "insert"]
    ended = harmful(Script(Shape(), tuple(Step(name, 1) for name in names)))
    assert ended.ending == "rows"
    short = shortest(ended, harmful, tries=60)
    assert [step.operation for step in short.script.steps] == ["upsert", "delete", "insert"]


def test_it_takes_no_more_lives_than_it_may() -> None:
    lived: list[Script] = []

    def live(script: Script) -> Lived:
        lived.append(script)
        return harmful(script)

    names = ["upsert", "delete", *["clean"] * 20, "insert"]
    ended = harmful(Script(Shape(), tuple(Step(name, 1) for name in names)))
    shortest(ended, live, tries=4)
    assert len(lived) == 4


def test_each_operation_meets_each_other() -> None:
    meetings, random, steps = Meetings(), Random(1), 0
    while len(meetings.pairs) < meetings.total * 0.95:
        done: list[str] = []
        for _ in range(25):
            name = random.choices([*OPERATIONS], meetings.weights([*OPERATIONS], done))[0]
            meetings.met(done, name)
            done.append(name)
            steps += 1
    assert steps < 1500
