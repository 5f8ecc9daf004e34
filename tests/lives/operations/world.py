"""What happens around a table: a service that stops, frames that are kept."""

from __future__ import annotations

from random import Random

from tests.lives.life import KeptFrame, Life
from tests.lives.operations.operation import Operation, Owner

_KEPT_FRAMES = 3


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
    kept = KeptFrame(ours, plain, tuple(life.model.types), [life.model.canonical()])
    life.frames = [*life.frames, kept][-_KEPT_FRAMES:]


OPERATIONS = (
    Operation("stop-service", Owner.WORLD, _stop_service),
    Operation("start-service", Owner.WORLD, _start_service),
    Operation("keep-frame", Owner.WORLD, _keep_frame),
)
