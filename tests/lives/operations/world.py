"""What happens around a table: damage, a service that stops, frames that are kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyhudi_expr as ph
from pyhudi_expr.table.errors import HudiError
from tests.lives.life import Harm, Inapplicable, KeptFrame, Life
from tests.lives.model import Row, canonical, difference
from tests.lives.operations.operation import Operation, Owner
from tests.lives.witnesses import plain_rows

_KEPT_FRAMES = 3


def _damage(life: Life, random: Random) -> None:
    """A file of a copy is damaged: we are no quieter about it than Hudi."""
    copy = life.path.with_name(f"{life.name}_damaged")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(life.path, copy)
    try:
        _compare_damaged(life, random, copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _compare_damaged(life: Life, random: Random, copy: Path) -> None:
    victims = [
        one
        for one in sorted(copy.rglob("*"))
        if one.is_file() and not one.name.endswith(".crc") and one.stat().st_size
        if one.suffix in (".parquet", ".hfile") or ".log." in one.name
    ]
    if not victims:
        raise Inapplicable
    victim = random.choice(victims)
    how = random.choice(list(_DAMAGES))
    _DAMAGES[how](victim)
    victim.with_name(f".{victim.name}.crc").unlink(missing_ok=True)
    ours = _quietly_read(copy, usual=ph.table(life.uri).scan().plan.notes)
    if ours is None:
        return
    found = canonical(ours, life.model.types)
    wrong = difference(life.model.canonical(), found)
    if not wrong:
        return
    try:
        hudi = canonical(plain_rows(life.sessions.plain, str(copy)), life.model.types)
    except Harm:
        hudi = None
    if hudi != found:
        place = victim.relative_to(copy)
        says = "fails" if hudi is None else f"reads {len(hudi)} rows"
        raise Harm("quieter than Hudi", f"{how} {place}: Hudi {says}, scan says {wrong}")


def _quietly_read(path: Path, usual: Sequence[str]) -> list[Row] | None:
    """The rows of `scan`; None if it fails, or notes what it does not note of the whole table."""
    try:
        scan = ph.table(str(path)).scan()
        rows: list[Row] = scan.to_arrow().to_pylist()
    except HudiError:
        return None
    return rows if {*scan.plan.notes} <= {*usual} else None


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _zero(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def _delete(file: Path) -> None:
    file.unlink()


def _move(file: Path) -> None:
    file.rename(file.with_name(f"{file.name}.moved"))


_DAMAGES = {"empty": _empty, "cut": _cut, "zero": _zero, "delete": _delete, "move": _move}


def _stop_service(life: Life, _random: Random) -> None:
    life.sessions.service.stop()


def _start_service(life: Life, _random: Random) -> None:
    life.sessions.start_service()


def _keep_frame(life: Life, random: Random) -> None:
    """By name or by path; the same without the extension is its measure."""
    by_name = random.random() < 0.5
    ours, plain = (
        session.table(life.name) if by_name else session.read.format("hudi").load(life.uri)
        for session in (life.sessions.extended, life.sessions.plain)
    )
    kept = KeptFrame(ours, plain, tuple(life.model.types), life.model.canonical())
    life.frames = [*life.frames, kept][-_KEPT_FRAMES:]


OPERATIONS = (
    Operation("damage", Owner.WORLD, _damage),
    Operation("stop-service", Owner.WORLD, _stop_service),
    Operation("start-service", Owner.WORLD, _start_service),
    Operation("keep-frame", Owner.WORLD, _keep_frame),
)
