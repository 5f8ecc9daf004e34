"""Writes of Hudi's: by DataFrames and by SQL, as people write who know nothing of our indexes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from devtools.tables import TableType
from pyhudi_expr.tables.pending_writes import is_scheduled_clustering, writers_at_work
from tests.lives.life import Inapplicable, Life, merges_partly
from tests.lives.model import ADDED, PARTITIONS, SOFT_DELETE, Row, partition
from tests.lives.operations.operation import Operation, Owner
from tests.lives.shapes import Keys, Ordering

_WITHOUT_INDEXES = "secondary_index"


def _insert(life: Life, random: Random) -> None:
    rows = life.model.drawn(random, life.model.unused(random))
    life.begins_write()
    life.write(rows, "insert")
    life.model.put(rows)


def _upsert(life: Life, random: Random) -> None:
    rows = life.model.drawn(random, [*life.model.some(random), *life.model.unused(random, 2)])
    life.begins_write()
    life.write(rows, "upsert")
    life.model.put(rows)


def _upsert_late(life: Life, random: Random) -> None:
    """Rows that are older than those that are there: they change nothing in event-time order."""
    rows = [{**row, "ord": 0} for row in life.model.drawn(random, _existing(life, random))]
    life.begins_write()
    life.write(rows, "upsert")
    life.model.put(rows)


def _delete_softly(life: Life, random: Random) -> None:
    drawn = life.model.drawn(random, _existing(life, random))
    rows = [{**row, SOFT_DELETE: True} for row in drawn]
    life.begins_write()
    life.write(rows, "upsert")
    life.model.put(rows)


def _delete(life: Life, random: Random) -> None:
    gone = _existing(life, random)
    life.begins_write()
    life.write(life.model.drawn(random, gone), "delete")
    life.model.remove(gone)


def _insert_overwrite(life: Life, random: Random) -> None:
    """The partitions of the new rows have these only; without partitions, the table."""
    chosen = partition(random.randrange(PARTITIONS))
    ids = [one for one in range(200, 400) if partition(one) == chosen]
    rows = life.model.drawn(random, sorted(random.sample(ids, 4)))
    life.begins_write()
    life.write(rows, "insert_overwrite")
    life.model.remove_where(f"p = '{chosen}'" if life.shape.is_partitioned else "true")
    life.model.put(rows)


def _delete_partition(life: Life, random: Random) -> None:
    chosen = partition(_existing(life, random)[0])
    life.begins_write()
    life.sql(f"ALTER TABLE {{t}} DROP PARTITION (p = '{chosen}')")
    life.model.remove_where(f"p = '{chosen}'")


def _sql_insert(life: Life, random: Random) -> None:
    rows = life.model.drawn(random, life.model.unused(random))
    _viewed(life, rows, "fresh")
    life.begins_write()
    life.sql(f"INSERT INTO {{t}} SELECT {_columns_last_partition(life)} FROM fresh")
    life.model.put(rows)


def _sql_update(life: Life, random: Random) -> None:
    ids = ", ".join(map(str, _existing(life, random)))
    number = random.randrange(1000)
    life.begins_write()
    life.sql(f"UPDATE {{t}} SET x = {number}, s = 'set {number}' WHERE id IN ({ids})")
    life.model.change(f"x = {number}, s = 'set {number}'", f"id IN ({ids})")


def _sql_delete(life: Life, random: Random) -> None:
    ids = _existing(life, random)
    life.begins_write()
    life.sql(f"DELETE FROM {{t}} WHERE id IN ({', '.join(map(str, ids))})")
    life.model.remove(ids)


def _merge(life: Life, random: Random) -> None:
    """Columns of rows that are there, all of them or some, and whole new rows."""
    known, fresh = _existing(life, random), life.model.unused(random, 2)
    rows = life.model.drawn(random, [*known, *fresh])
    _viewed(life, rows, "merged")
    names = [*life.model.types]
    changed = ["x", "s", "ord"] if merges_partly(life.shape) else names
    life.begins_write()
    life.sql(
        "MERGE INTO {t} t USING merged s ON t.id = s.id"
        f" WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in changed)}"
        f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)})"
        f" VALUES ({', '.join(f's.{name}' for name in names)})"
    )
    old = {row["id"]: row for row in life.model.rows()}
    life.model.put(
        {**old[row["id"]], **{name: row[name] for name in changed}} if row["id"] in old else row
        for row in rows
    )


def _merge_deletes(life: Life, random: Random) -> None:
    rows = life.model.drawn(random, _existing(life, random))
    _viewed(life, rows, "merged")
    life.begins_write()
    life.sql("MERGE INTO {t} t USING merged s ON t.id = s.id WHEN MATCHED THEN DELETE")
    life.model.remove([row["id"] for row in rows])


def _add_column(life: Life, random: Random) -> None:
    name = _next_column(life)
    life.sql(f"ALTER TABLE {{t}} ADD COLUMNS ({name} {ADDED[name]})")
    life.settled()
    life.model.add_column(name, ADDED[name])
    life.sessions.plain.sql(f"REFRESH TABLE {life.name}")


def _write_new_column(life: Life, random: Random) -> None:
    """The writer's rows have a column that the table has not."""
    name = _next_column(life)
    ids = life.model.some(random)
    life.settled()
    life.model.add_column(name, ADDED[name])
    rows = life.model.drawn(random, ids)
    life.write(rows, "upsert")
    life.model.put(rows)
    _register_again(life)


def _widen(life: Life, random: Random) -> None:
    ids = life.model.some(random)
    life.settled()
    life.model.widen("x", "bigint")
    rows = [{**row, "x": 2**40} for row in life.model.drawn(random, ids)]
    life.write(rows, "upsert")
    life.model.put(rows)
    _register_again(life)


def _two_writers(life: Life, random: Random) -> None:
    """Each writer's rows are there if it did not fail; one of two that conflict may."""
    ids = _existing(life, random)
    halves = [life.model.drawn(random, part) for part in (ids[::2], ids[1::2]) if part]
    together = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "LAZY",
        # A server that both use is stopped by the one that ends first.
        "hoodie.embed.timeline.server.reuse.enabled": "false",
    }
    more = {name.replace(".", "__"): value for name, value in together.items()}
    life.settled()

    def write(rows: list[Row]) -> Exception | None:
        try:
            life.write(rows, "upsert", **more)
        except Exception as error:
            return error
        return None

    life.had_two_writers = True
    with ThreadPoolExecutor(2) as pool:
        failures = list(pool.map(write, halves))
    for rows, failure in zip(halves, failures, strict=True):
        if failure is None:
            life.model.put(rows)
    for failure in failures:
        if failure is not None and "conflict" not in str(failure).lower():
            raise failure
    if any(failures):
        # Of what failed before a later commit, only a cleaner of this policy rolls back the files.
        policy = "hoodie.clean.failed.writes.policy=LAZY"
        life.call(f"run_clean(table => '{{t}}', options => '{policy}')")


def _die_writing(life: Life, random: Random) -> None:
    """A writer dies right before its commit is complete.

    Hudi has removed the write's markers by the time that its commit is there, so they are written
    again: a rollback by markers removes no file without one.
    """
    rows = life.model.drawn(random, _existing(life, random))
    life.settled()
    before = _data_files(life)
    life.write(rows, "upsert")
    timeline = life.path / ".hoodie" / ("" if life.shape.version < 8 else "timeline")
    ends = [one for one in timeline.iterdir() if one.suffix in (".commit", ".deltacommit")]
    newest = max(ends, key=lambda one: one.name)
    instant = newest.stem.partition("_")[0]
    for name in _data_files(life) - before:
        kind = "APPEND" if ".log." in name and life.shape.version < 8 else "CREATE"
        marker = life.path / ".hoodie" / ".temp" / instant / f"{name}.marker.{kind}"
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


# ---- what they share


def _existing(life: Life, random: Random) -> list[int]:
    ids = life.model.some(random)
    if not ids:
        raise Inapplicable
    return ids


def _data_files(life: Life) -> frozenset[str]:
    """Base and log files below the table, by their paths from it."""
    files = (one.relative_to(life.path) for one in life.path.rglob("*_*"))
    return frozenset(
        str(one)
        for one in files
        if one.suffix == ".parquet" or ".log." in one.name
        if one.parts[0] != ".hoodie" and one.suffix != ".crc"
    )


def _viewed(life: Life, rows: list[Row], name: str) -> None:
    life.frame(life.sessions.extended, rows).createOrReplaceTempView(name)


def _columns_last_partition(life: Life) -> str:
    """The columns in the catalog's order: partition columns come last there."""
    names = list(life.model.types)
    if life.shape.is_partitioned:
        names = [name for name in names if name != "p"] + ["p"]
    return ", ".join(names)


def _next_column(life: Life) -> str:
    for name in ADDED:
        if name not in life.model.types:
            return name
    raise Inapplicable


def _register_again(life: Life) -> None:
    """The catalog has the columns that the table had when it was registered."""
    for session in (life.sessions.plain,):
        session.sql(f"DROP TABLE IF EXISTS {life.name}")
        session.sql(f"CREATE TABLE {life.name} USING hudi LOCATION '{life.uri}'")


def _has_columns_to_add(life: Life) -> bool:
    return any(name not in life.model.types for name in ADDED)


def _has_rows(life: Life) -> bool:
    return bool(life.model.ids)


def _replaceable(life: Life) -> bool:
    """Hudi refuses to overwrite files of a table with a secondary index of its own.

    A clustering that was planned before brings the overwritten rows back.
    """
    table = life.opened()
    pending = [one for one in table.timeline.instants if not one.is_completed]
    return not (
        any(one.action == "clustering" or is_scheduled_clustering(table, one) for one in pending)
        or any(name.startswith(_WITHOUT_INDEXES) for name in table.properties.metadata_partitions)
    )


def _stored_keys(life: Life) -> bool:
    """Statements of SQL find rows by stored keys."""
    return life.keys is Keys.STORED


def _both(*conditions: Any) -> Any:
    return lambda life: all(one(life) for one in conditions)


def _is_narrow(life: Life) -> bool:
    """Hudi refuses to widen a column of which it has a secondary index."""
    partitions = life.opened().properties.metadata_partitions
    return life.model.types["x"] == "int" and not any("_numbers_" in one for one in partitions)


def no_dead_write(life: Life) -> bool:
    """Writers of Hudi that do not roll back first make a dead write impossible to roll back."""
    return not writers_at_work(life.opened())


def _is_event_time(life: Life) -> bool:
    return life.shape.ordering is Ordering.EVENT_TIME


def _deletes_softly(life: Life) -> bool:
    return SOFT_DELETE in life.model.types


def _is_partitioned(life: Life) -> bool:
    return life.shape.is_partitioned


def is_mor(life: Life) -> bool:
    return life.shape.type is TableType.MOR


OPERATIONS = (
    Operation("insert", Owner.HUDI, _insert),
    Operation("upsert", Owner.HUDI, _upsert, _has_rows),
    Operation("upsert-late", Owner.HUDI, _upsert_late, _both(_has_rows, _is_event_time)),
    Operation("delete-softly", Owner.HUDI, _delete_softly, _both(_has_rows, _deletes_softly)),
    Operation("delete", Owner.HUDI, _delete, _has_rows),
    Operation("insert-overwrite", Owner.HUDI, _insert_overwrite, _replaceable),
    Operation(
        "delete-partition",
        Owner.HUDI,
        _delete_partition,
        _both(_has_rows, _is_partitioned, _replaceable, _stored_keys, no_dead_write),
    ),
    Operation("sql-insert", Owner.HUDI, _sql_insert, _stored_keys),
    Operation("sql-update", Owner.HUDI, _sql_update, _both(_has_rows, _stored_keys)),
    Operation("sql-delete", Owner.HUDI, _sql_delete, _both(_has_rows, _stored_keys)),
    Operation("merge", Owner.HUDI, _merge, _both(_has_rows, _stored_keys)),
    Operation(
        # Without event times, MERGE of Hudi 1.2 deletes no row of many tables.
        "merge-deletes",
        Owner.HUDI,
        _merge_deletes,
        _both(_has_rows, _stored_keys, _is_event_time),
    ),
    Operation(
        "add-column",
        Owner.HUDI,
        _add_column,
        _both(_has_columns_to_add, _stored_keys, no_dead_write),
    ),
    Operation(
        "write-new-column", Owner.HUDI, _write_new_column, _both(_has_rows, _has_columns_to_add)
    ),
    Operation("widen", Owner.HUDI, _widen, _both(_has_rows, _is_narrow)),
    Operation("two-writers", Owner.HUDI, _two_writers, _both(_has_rows, no_dead_write)),
    Operation("die-writing", Owner.HUDI, _die_writing, _has_rows),
)
