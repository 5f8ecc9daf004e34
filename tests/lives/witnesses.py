"""Who says whether a table was harmed: readers, and the rules that hold for each table.

`after_a_step` asks what is quick, `now_and_then` the audit, queries, and Hudi's next writes.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa
from hudi import HudiTableBuilder
from pyspark.sql import SparkSession

import pyhudi_expr as ph
from devtools.tables import TableType
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    HOODIE_DIR,
    META_COLUMNS,
    METADATA_DIR,
    PARTITION_STATS,
)
from tests.hive.statements.manifest import manifest
from tests.lives.in_hive import registered_in_hive
from tests.lives.life import Harm, Life
from tests.lives.model import ADDED, COLUMNS, SOFT_DELETE, Canonical, canonical, difference
from tests.lives.operations.operation import Operation, Owner
from tests.lives.predicates import drawn_predicate
from tests.lives.sessions import CommandError
from tests.lives.shapes import Keys

KEY, COMMIT_TIME = "_hoodie_record_key", "_hoodie_commit_time"
_KEPT = ("active", "partial")
"""States of an index in Hudi's metadata table. Of several secondary ones Hudi follows the log
files in the first only, and the list says so."""
_LACKING = "it lacks values of their rows"
"""What the list says of a secondary index where Hudi wrote no right entries for a slice. Hudi 1.2
also spells doubles otherwise than Hudi 1.0, whose entries it does not find."""
_KEPT_BESIDE = (*_KEPT, "lagging")
"""States of an index of the extension: what was written since is read."""
_PREDICATES = 3
"""So many are asked each time."""
_HUDI_WAITS = (
    "Not allowed to update the clustering file group",
    "Please ensure that there are no pending table service actions",
    "is earlier than the latest compaction",
)
"""What Hudi says when a write has to wait for another action; nothing has changed then."""


def after_a_step(life: Life, operation: Operation, before: Mapping[str, str]) -> None:
    """Ask what is quick.

    Args:
        life: The life.
        operation: What was done.
        before: The states of the indexes until then.

    Raises:
        Harm: Somebody sees one.
    """
    _scan_has_the_rows(life)
    _hudi_rs_has_the_rows(life)
    _plain_spark_has_the_rows(life)
    _indexes_are_there(life, operation, before)
    for kept in life.frames:
        kept.states.append(canonical(life.model.rows(), kept.columns))


def now_and_then(life: Life, random: Random) -> None:
    """Ask what takes seconds. Raises Harm if somebody sees one."""
    _extended_spark_has_the_rows(life, random)
    _hive_has_the_rows(life, random)
    _audit_has_nothing_to_say(life)
    _kept_frames_have_rows(life)
    _history_is_hudis(life, random)
    _the_next_writes_work(life, random)


# ---- rows


def _scan_has_the_rows(life: Life) -> None:
    try:
        table = ph.table(life.uri).scan(meta=True).to_arrow()
    except HudiError as refusal:
        life.note("scan refuses", described(refusal))
        return
    except Exception as error:
        raise Harm("scan fails", described(error)) from error
    rows = table.to_pylist()
    wrong = difference(life.model.canonical(), canonical(rows, life.model.types))
    if wrong:
        _plain_spark_has_the_rows(life)  # if the table is wrong, this says so first
        raise Harm("scan", wrong)


def _hudi_rs_has_the_rows(life: Life) -> None:
    """What hudi-rs cannot read is none of its witness.

    It does not say so of rows without keys, and of log files beside a compaction that is pending in
    a table of version 6.
    """
    is_mor = life.shape.type is TableType.MOR
    if is_mor and (life.keys is Keys.VIRTUAL or _compacts_in_layout_1(life)):
        return
    try:
        batches = HudiTableBuilder.from_base_uri(life.uri).build().read()
    except Exception as error:
        life.note("hudi-rs refuses", described(error))
        return
    rows = pa.Table.from_batches(batches).to_pylist() if batches else []
    wrong = difference(life.model.canonical(), canonical(rows, life.model.types))
    if wrong:
        raise Harm("hudi-rs", wrong)


def _compacts_in_layout_1(life: Life) -> bool:
    return life.shape.version == 6 and bool(life.opened().timeline.pending_compactions)


def _plain_spark_has_the_rows(life: Life) -> None:
    rows = plain_rows(life.sessions.plain, life.uri)
    wrong = difference(life.model.canonical(), canonical(rows, life.model.types))
    if wrong:
        raise Harm("spark", wrong)
    _keys_are_right(life, rows)


def plain_rows(session: SparkSession, path: str) -> list[dict[str, Any]]:
    """The rows that Hudi reads without us. Raises Harm if it does not."""
    try:
        return [row.asDict() for row in session.read.format("hudi").load(path).collect()]
    except Exception as error:
        raise Harm("spark fails", described(error)) from error


def _keys_are_right(life: Life, rows: Sequence[Mapping[str, Any]]) -> None:
    """Each row has its key, or the table says that it has none."""
    for row in rows:
        key, expected = row.get(KEY), str(row["id"])
        if key != expected and not (life.keys is Keys.VIRTUAL and key is None):
            raise Harm("keys", f"row {expected} has the key {key!r} in a table of {life.keys}")
        if life.keys is Keys.STORED and not row.get(COMMIT_TIME):
            raise Harm("commit times", f"row {expected} has none")


def _extended_spark_has_the_rows(life: Life, random: Random) -> None:
    """Queries of the session with our extension, and `scan`, by predicates."""
    session = life.sessions.extended
    for _ in range(_PREDICATES):
        condition = drawn_predicate(random, life.model.types)
        expected = life.model.canonical(condition)
        try:
            frame = session.sql(f"SELECT * FROM {life.name} WHERE {condition}")
            rows = [row.asDict() for row in frame.collect()]
        except Exception as error:
            raise Harm("extension fails", f"{condition}: {described(error)}") from error
        wrong = difference(expected, canonical(rows, life.model.types))
        if wrong:
            raise Harm("extension", f"{condition}: {wrong}")
        try:
            scanned = ph.table(life.uri).scan(condition, meta=True).to_arrow().to_pylist()
        except HudiError as refusal:
            life.note("scan refuses", described(refusal))
            continue
        wrong = difference(expected, canonical(scanned, life.model.types))
        if wrong:
            raise Harm("scan by a predicate", f"{condition}: {wrong}")


def _hive_has_the_rows(life: Life, random: Random) -> None:
    """The rows of a query, with pruning; a table that is dropped in Hive keeps each byte."""
    condition = drawn_predicate(random, life.model.types)
    expected, before = life.model.canonical(condition), manifest(life.path)
    with registered_in_hive(life, life.path) as in_hive:
        found = in_hive(condition)
    if manifest(life.path) != before:
        raise Harm("hive", "DROP TABLE changed the table's directory")
    if found is None:
        return
    wrong = difference(expected, found)
    if wrong:
        raise Harm("hive", f"{condition}: {wrong}")


def _kept_frames_have_rows(life: Life) -> None:
    """A frame of an earlier step has the rows of a state since, or what Hudi alone has.

    A statement that changes files refreshes what its session knows of the table; a write does not.
    """
    for kept in life.frames:
        # Files are listed when a frame is read first: both are always read.
        alone, ours = (_rows_of(frame, kept.columns) for frame in (kept.plain, kept.frame))
        if ours is None and alone is not None:
            raise Harm("kept frame fails", "and one of Hudi alone does not")
        if ours is not None and ours not in (*kept.states, alone):
            raise Harm("kept frame", difference(kept.states[0], ours))


def _rows_of(frame: Any, columns: Sequence[str]) -> list[Canonical] | None:
    """The rows of a frame; None if it fails."""
    try:
        return canonical([row.asDict() for row in frame.collect()], columns)
    except Exception:
        return None


def _history_is_hudis(life: Life, random: Random) -> None:
    """Time travel, what changed since an instant, and a stream: with the extension as without.

    Hudi alone skips no files: it would by statistics of partitions as they are now.
    """
    instants = ph.table(life.uri, progress=False).history()["instant"].to_pylist()
    if not instants:
        return
    way, condition = random.choice(list(_PAST)), drawn_predicate(random, COLUMNS)
    name_of_instant, more_options = _PAST[way]
    options: dict[str, Any] = {**more_options, name_of_instant: random.choice(instants)}
    read = _streamed if way == "stream" else _loaded
    try:
        whole = {**options, **_NOT_SKIPPING}
        expected = read(life.sessions.plain, life.uri, whole, condition)
    except Exception as error:
        life.note(f"Hudi's {way} fails", described(error))
        return
    try:
        found = read(life.sessions.extended, life.uri, options, condition)
    except Exception as error:
        try:
            read(life.sessions.plain, life.uri, options, condition)
        except Exception as own:
            life.note(f"Hudi's {way} fails where it skips files", described(own))
            return
        raise Harm("history", f"{way} fails: {condition}, {options}: {described(error)}") from error
    if found != expected:
        missing, more = [*(expected - found)][:2], [*(found - expected)][:2]
        raise Harm("history", f"{way}: {condition}, {options}: without {missing}, with {more}")


_NOT_SKIPPING = {"hoodie.enable.data.skipping": "false"}
_PAST: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "time travel": ("as.of.instant", {}),
    "incremental": (
        "hoodie.datasource.read.begin.instanttime",
        {"hoodie.datasource.query.type": "incremental"},
    ),
    "stream": ("hoodie.datasource.streaming.startOffset", {}),
}
"""The option that names the instant of each way to read the past, and others that it needs."""


def _loaded(
    session: SparkSession, path: str, options: Mapping[str, str], condition: str
) -> Counter[str]:
    frame = session.read.format("hudi").options(**options).load(path).where(condition)
    return Counter(str(row) for row in frame.collect())


def _streamed(
    session: SparkSession, path: str, options: Mapping[str, str], condition: str
) -> Counter[str]:
    frame = session.readStream.format("hudi").options(**options).load(path).where(condition)
    stream = frame.writeStream.format("memory").queryName("streamed").trigger(availableNow=True)
    query = stream.start()
    try:
        query.awaitTermination()
        return Counter(str(row) for row in session.table("streamed").collect())
    finally:
        query.stop()
        session.catalog.dropTempView("streamed")


# ---- indexes and metadata


def _indexes_are_there(life: Life, operation: Operation, before: Mapping[str, str]) -> None:
    """What was active is active, or lags behind in the extension, or somebody said that it goes."""
    after = life.described_indexes()
    for name, state in before.items():
        if state not in _KEPT or name in life.announced or _is_kept(name, after.get(name)):
            continue
        owner = "Hudi's" if operation.owner is Owner.HUDI else "our"
        left = f"{after[name]['state']}: {after[name]['note']}" if name in after else "nowhere"
        raise Harm("index", f"{owner} {operation.name} left {name} {left}")


def _is_kept(name: str, index: Mapping[str, Any] | None) -> bool:
    if index is None:
        return False
    if index["state"] in (_KEPT_BESIDE if name.endswith("_extension") else _KEPT):
        return True
    return index["state"] == "doubted" and _LACKING in index["note"]


def _audit_has_nothing_to_say(life: Life) -> None:
    try:
        life.sessions.command("audit", life.uri, "--json")
        return
    except CommandError as failure:
        if not failure.output:
            raise Harm("audit", str(failure)) from failure
        findings = json.loads(failure.output)["findings"]
    for found in findings:
        said = ", ".join(f"{name} {value}" for name, value in found.items() if value)
        if not _is_hudis_own(life, found):
            raise Harm("audit", said)
        life.note(f"Hudi's {found['fault']}", said)


def _is_hudis_own(life: Life, found: Mapping[str, Any]) -> bool:
    """Whether writers of Hudi 1.2 are known to leave a fault."""
    match found["fault"]:
        case "partition_missing":  # the life began so
            return not (life.path / METADATA_DIR).exists()
        case "file_gone":  # of a partition that was emptied, and written again
            return _was_cleaned(life, found["file"])
        case "values_called_nulls":  # of what clusterings leave out, see below; we do not trust it
            return bool(found["subject"] == SOFT_DELETE and "pyhudi" not in found["readers"])
        case "nulls_denied":  # bounds of a partition leave out files that are older than a column
            # Without stored keys, writes leave those of meta columns until `virtual-keys rewrite`.
            is_left = life.keys is Keys.VIRTUAL and found["subject"] in META_COLUMNS
            return is_left or bool(ADDED.keys() & life.model.types.keys())
        case "range_too_narrow" if found["partition"] == PARTITION_STATS:
            return life.had_two_writers and "pyhudi" not in found["readers"]
        case "entry_missing" if found["partition"] == BLOOM_FILTERS:
            # A file without stored keys has no filter in its footer, which Hudi would copy.
            return life.keys is Keys.VIRTUAL
        case "entry_missing":  # by clusterings, which do not see meta columns without keys
            is_unseen = life.keys is Keys.VIRTUAL and found["subject"] in META_COLUMNS
            return is_unseen or bool(found["subject"] == SOFT_DELETE)
    return False


def _was_cleaned(life: Life, file: str) -> bool:
    """Whether a clean of Hudi has deleted a file.

    If that empties a partition, Hudi deletes its entry; a compaction of the metadata table merges a
    later entry with that of before, whose files are listed again.
    """
    name = file.rpartition("/")[2].encode()
    cleans = (life.path / HOODIE_DIR).rglob("*.clean")
    return any(name in clean.read_bytes() for clean in cleans)


# ---- Hudi's next writes


def _the_next_writes_work(life: Life, random: Random) -> None:
    """On a copy: an upsert and a delete by Hudi alone, and one of its services."""
    copy = life.path.with_name(f"{life.name}_copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(life.path, copy)
    other = life.copied(copy)
    try:
        with other.registered():
            _write_on(other, random)
    except Harm:
        raise
    except Exception as error:
        if waits(error):
            life.note("next write waits", described(error))
            return
        raise Harm("next write fails", described(error)) from error
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _write_on(other: Life, random: Random) -> None:
    model, plain = other.model, other.sessions.plain
    rows = model.drawn(random, [*model.some(random), 500])
    other.write(rows, "upsert", plain)
    model.put(rows)
    gone = model.some(random, 3)
    other.write(model.drawn(random, gone), "delete", plain)
    model.remove(gone)
    found = canonical(plain_rows(plain, other.uri), model.types)
    wrong = difference(model.canonical(), found)
    if wrong:
        raise Harm("next write", wrong)


def waits(error: Exception) -> bool:
    """Whether Hudi's write failed as another action has to end first."""
    return any(text in str(error) for text in _HUDI_WAITS)


def described(error: Exception) -> str:
    """An error in a line: what it says first, and what caused it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")]
    return " | ".join([*lines[:2], *causes[-2:]])[:700]
