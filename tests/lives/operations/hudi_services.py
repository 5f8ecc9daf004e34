"""Hudi's table services, by its procedures in the session with our extension."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pyhudi_expr.tables.timeline import Instant
from tests.lives.life import Inapplicable, Life
from tests.lives.operations.hudi_writes import is_mor, no_dead_write
from tests.lives.operations.operation import Operation, Owner

_RESTORED = {"column_stats", "record_index"}
"""Kinds of indexes that Hudi's restore leaves in its metadata table."""
_AT_ONCE = "hoodie.compact.inline.max.delta.commits=1"


def _compact_inline(life: Life, random: Random) -> None:
    """A write that compacts what has been written until then."""
    rows = life.model.drawn(random, life.model.some(random) or life.model.unused(random))
    life.settled()
    more = {"hoodie__compact__inline": "true", "hoodie__compact__inline__max__delta__commits": "1"}
    life.write(rows, "upsert", **more)
    life.model.put(rows)


def _compact(operation: str) -> Operation:
    def run(life: Life, _random: Random) -> None:
        life.settled()
        life.service("run_compaction", f"op => '{operation}'", _AT_ONCE)

    return Operation(
        f"compaction-{operation.lower()}",
        Owner.HUDI,
        run,
        lambda life: is_mor(life) and no_dead_write(life),
    )


def _cluster(operation: str) -> Operation:
    def run(life: Life, random: Random) -> None:
        life.settled()
        column = random.choice(["x", "s", "d", "id"])
        order = f", order => '{column}'" if operation != "execute" else ""
        life.service("run_clustering", f"op => '{operation}'{order}")

    return Operation(f"clustering-{operation.lower()}", Owner.HUDI, run, no_dead_write)


def _clean(life: Life, _random: Random) -> None:
    life.settled()
    life.call("run_clean(table => '{t}', retain_commits => 1)")


def _roll_back(life: Life, _random: Random) -> None:
    state = life.undoable
    if state is None:
        raise Inapplicable
    life.settled()
    life.call(f"rollback_to_instant(table => '{{t}}', instant_time => '{life.newest()}')")
    life.model.recall(state)


def _save(life: Life, _random: Random) -> None:
    life.settled()
    instant = life.newest()
    life.call(f"create_savepoint(table => '{{t}}', commit_time => '{instant}')")
    life.savepoint = instant
    life.saved_indexes = frozenset(life.indexes())
    # A build that ended after this write is made undone by the restore, too.
    write = next(one for one in life.opened().timeline.writes if one.requested == instant)
    builds = _builds(life)
    life.saved_builds = frozenset(
        one.requested for one in builds if (one.completed or "") <= (write.completed or "")
    )
    is_saved = len(life.saved_builds) == len(builds)
    life.saved_statistics = _statistics(life) if is_saved else frozenset()
    life.model.remember("savepoint")


def _restore(life: Life, _random: Random) -> None:
    life.settled()
    described = life.described_indexes().items()
    life.call(f"rollback_to_savepoint(table => '{{t}}', instant_time => '{life.savepoint}')")
    life.model.recall("savepoint")
    # Hudi drops the metadata partitions that it cannot restore.
    life.announced |= {name for name, one in described if one["kind"] not in _RESTORED}
    # Hudi deletes the files of what was built since, also of an index that was there before.
    built_since = {one.requested for one in _builds(life)} - life.saved_builds
    life.announced |= life.indexes().keys() - (frozenset() if built_since else life.saved_indexes)


def _builds(life: Life) -> Sequence[Instant]:
    return [one for one in life.opened().timeline.instants if one.action == "indexing"]


def _archive(life: Life, random: Random) -> None:
    """After a clean, as writers do: Hudi's readers add logs of archived instants to any slice."""
    _clean(life, random)
    life.call(
        "archive_commits(table => '{t}', min_commits => 2, max_commits => 3,"
        " retain_commits => 1, enable_metadata => true)"
    )


def _can_roll_back(life: Life) -> bool:
    """The procedure of Hudi 1.2 looks for the timeline of version 8, and for the last write."""
    if life.undoable is None or life.shape.version < 8:
        return False
    table = life.opened()
    last, pending = table.timeline.last_write, table.timeline.pending
    return (
        last is not None
        and not pending
        and last.requested != life.savepoint
        and not _is_compacted(life, last.requested)
    )


def _is_compacted(life: Life, instant: str) -> bool:
    """Whether the metadata table is compacted since, or before the rollback: it stops halfway."""
    folder = life.path / ".hoodie" / "metadata" / ".hoodie"
    newest = max((one.name.partition("_")[0] for one in folder.rglob("*.commit")), default="")
    since = [one for one in folder.rglob("*_*.deltacommit") if one.name.partition("_")[0] > newest]
    return instant <= newest or len(since) >= _UNCOMPACTED


_UNCOMPACTED = 8
"""After ten of its writes Hudi compacts the metadata table, before what it does next."""


def _can_restore(life: Life) -> bool:
    """Hudi leaves plans whose files a restore deletes, and finds no instant that is archived.

    It fails if its writers made `column_stats` since: it takes the files back, and makes them again
    within the same action of the metadata table.
    """
    timeline = life.opened().timeline
    active = {instant.requested for instant in timeline.writes}
    statistics = _statistics(life)
    is_older = not statistics or bool(statistics & life.saved_statistics)
    return life.savepoint in active and not timeline.pending and is_older


def _statistics(life: Life) -> frozenset[str]:
    folder = life.path / ".hoodie" / "metadata" / "column_stats"
    return frozenset(one.name for one in folder.glob("*col-stats*"))


OPERATIONS = (
    Operation("compact-inline", Owner.HUDI, _compact_inline, is_mor),
    _compact("schedule"),
    _compact("run"),
    _compact("scheduleAndExecute"),
    _cluster("schedule"),
    _cluster("execute"),
    _cluster("scheduleAndExecute"),
    Operation("clean", Owner.HUDI, _clean),
    Operation("rollback", Owner.HUDI, _roll_back, _can_roll_back),
    Operation("savepoint", Owner.HUDI, _save, lambda life: life.savepoint is None),
    Operation("restore", Owner.HUDI, _restore, _can_restore),
    Operation("archive", Owner.HUDI, _archive),
)
