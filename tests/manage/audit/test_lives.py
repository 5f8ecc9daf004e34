"""Whatever writers do to a table in whichever order, a right metadata table has no finding.

TEST_EXAMPLES multiplies the number of lives.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from tests.example_counts import examples
from tests.manage.audit.living_table import LivingTable

_STEPS = 6
_PARTS = "abc"
_FEW, _MANY = 12, 200

Step = Callable[[LivingTable, Random], None]


def _keys(table: LivingTable, random: Random) -> list[int]:
    known = table.keys
    return random.sample(known, min(len(known), random.randint(1, 4)))


_STEPS_OF_WRITERS: dict[str, Step] = {
    "insert": lambda t, r: t.insert(r.choice(_PARTS), r.sample(range(100), r.randint(1, 6))),
    "update": lambda t, r: t.update(_keys(t, r)),
    "delete": lambda t, r: t.delete(_keys(t, r)),
    "move": lambda t, r: t.move(r.choice([0, *t.keys]), r.choice(_PARTS)),
    "replace a partition": lambda t, r: t.replace_part(r.choice(_PARTS)),
    "delete a partition": lambda t, r: t.delete_part(r.choice(_PARTS)),
    "clean": lambda t, _: t.clean(),
    "fail to write": lambda t, r: t.fail_to_write(r.choice(_PARTS), range(200, 203)),
    "compact the metadata table": lambda t, _: t.compact_metadata(),
}


def live(path: Path, seed: int) -> None:
    """One life of a table, which is audited after half of its steps and at its end."""
    random = Random(seed)
    table = LivingTable(path, random, version=random.choice([8, 9]))
    keys = random.sample(range(60), 14)
    table.begin({"a": [keys[:4], keys[4:7]], "b": [keys[7:]]})
    done = []
    for number in range(1, _STEPS + 1):
        name = random.choice(list(_STEPS_OF_WRITERS))
        done.append(name)
        _STEPS_OF_WRITERS[name](table, random)
        if number in (_STEPS // 2, _STEPS):
            found = audit(table.open(), AuditOptions())
            assert (found.findings, found.unchecked) == ((), ()), (seed, done)
    drawn = audit(table.open(), AuditOptions(sample=2, seed=seed))
    assert (drawn.findings, drawn.unchecked) == ((), ()), (seed, done)


@pytest.mark.parametrize("seed", range(examples(_FEW)))
def test_a_random_life_has_no_finding(tmp_path: Path, seed: int) -> None:
    live(tmp_path / "table", seed)


def test_a_table_without_partitions_has_no_finding(tmp_path: Path) -> None:
    table = LivingTable(tmp_path / "table", Random(3))
    table.begin({"": [[1, 2, 3], [4, 5]]})
    table.update([1, 4])
    table.delete([5])
    for found in (audit(table.open(), AuditOptions()), audit(table.open(), AuditOptions(1))):
        assert (found.findings, found.unchecked) == ((), ())
    assert found.slices_total == 2


@pytest.mark.long
@pytest.mark.timeout(0)
def test_two_hundred_random_lives_have_no_finding(tmp_path: Path) -> None:
    for seed in range(_FEW, _FEW + _MANY):
        live(tmp_path / str(seed), seed)
