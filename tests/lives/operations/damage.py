"""Damage to a copy of a table: we are no quieter about it than Hudi's own reader.

One file with content is damaged, of data, the metadata table or the timeline. Then queries have
the rows of the whole table, or those that Hudi reads, or say that something is wrong; and the audit
says so where a query has other rows, or none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import pyhudi_expr as ph
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.tables.hudi_names import HOODIE_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.lives.in_hive import RowsInHive, registered_in_hive
from tests.lives.life import Harm, Inapplicable, Life
from tests.lives.model import Canonical, canonical, difference
from tests.lives.operations.operation import Operation, Owner
from tests.lives.predicates import drawn_predicate
from tests.lives.sessions import CommandError

_ALL = "true"
_REMOVED = "removed with its directory"
_ENDS = (".commit", ".deltacommit", ".replacecommit")


def _damage(life: Life, random: Random) -> None:
    # A new path each time: Hudi keeps what it has read.
    copy = life.path.with_name(f"{life.name}_damaged_{random.randrange(10**9)}")
    shutil.copytree(life.path, copy)
    try:
        # Most stores have no checksums that would tell Hudi of a damage.
        for checksum in copy.rglob(".*.crc"):
            checksum.unlink()
        with registered_in_hive(life, copy) as in_hive:
            what = _damaged(copy, random)
            _compare(life, copy, what, (_ALL, drawn_predicate(random, life.model.types)))
            if what.startswith(HOODIE_DIR):
                _compare_in_hive(life, copy, what, in_hive)
        _list_again(life, copy, what)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _damaged(copy: Path, random: Random) -> str:
    """Damage a file, and say what was done. Each directory has the same chance."""
    targets = [file for file in _files(copy) if file.stat().st_size and not _is_pending(file)]
    if not targets:
        raise Inapplicable
    room = random.choice(sorted({file.parent for file in targets}))
    target = random.choice([file for file in targets if file.parent == room])
    how = random.choice(list(_DAMAGES))
    _DAMAGES[how](target, random)
    return f"{target.relative_to(copy)} {how}"


def _files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


def _is_pending(file: Path) -> bool:
    return file.suffix in (".requested", ".inflight") or ".temp" in file.parts


# ---- what is said of it


@dataclass(frozen=True)
class _Heard:
    """An answer.

    Attributes:
        rows: None if there was an error.
        notes: What it notes that is not noted of the whole table.
    """

    rows: list[Canonical] | None
    notes: frozenset[str] = frozenset()


def _compare(life: Life, copy: Path, what: str, conditions: tuple[str, ...]) -> None:
    is_wrong = False
    for condition in conditions:
        whole = life.model.canonical(condition)
        hudi, ours = _hudi(life, copy, condition), _ours(life, copy, condition)
        could_read = _ours(life, life.path, condition).rows is not None
        is_wrong |= hudi.rows != whole or (could_read and ours.rows != whole)
        is_right = ours.rows in (whole, hudi.rows) or (_ends_a_write(what) and hudi.rows is None)
        is_quiet = ours.rows is not None and not ours.notes
        if is_quiet and hudi.rows is None and _hudi(life, life.path, condition).rows is None:
            life.note("Hudi fails without the damage", condition)
        elif is_quiet and not is_right:
            says = "fails" if hudi.rows is None else f"reads {len(hudi.rows)} rows"
            wrong = difference(whole if hudi.rows is None else hudi.rows, ours.rows)
            raise Harm("quieter than Hudi", f"{what}: {condition}: Hudi {says}, scan says {wrong}")
    if is_wrong and not _ends_a_write(what) and not _audited(copy) - _audited(life.path):
        raise Harm("audit is silent", f"{what}: rows are lost, or a query fails")


def _compare_in_hive(life: Life, copy: Path, what: str, in_hive: RowsInHive) -> None:
    """Hive has no notes: it has those rows, or those that Hudi reads, or fails."""
    found, whole = in_hive(_ALL), life.model.canonical(_ALL)
    if found is None or found == whole or _ends_a_write(what):
        return
    hudi = _hudi(life, copy, _ALL).rows
    if found != hudi:
        says = "fails" if hudi is None else f"reads {len(hudi)} rows"
        raise Harm(
            "quieter than Hudi", f"{what}: Hudi {says}, Hive says {difference(whole, found)}"
        )


def _list_again(life: Life, copy: Path, what: str) -> None:
    """An index whose files are gone is not active."""
    file, _, how = what.partition(" ")
    if how != _REMOVED:
        return
    gone = Path(file).parent.name
    try:
        listed = json.loads(life.sessions.command("index", "list", str(copy), "--json"))
    except CommandError:
        return
    for one in listed["indexes"]:
        if one["state"] == "active" and gone in one["partitions"]:
            raise Harm("quieter than Hudi", f"{what}: {one['name']} is listed as active")


def _ends_a_write(what: str) -> bool:
    """Whether the file that ended a write is gone: it is one that has not ended, as others are."""
    file, _, how = what.partition(" ")
    return file.endswith(_ENDS) and how in ("deleted", "moved")


def _hudi(life: Life, path: Path, condition: str) -> _Heard:
    reader = life.sessions.plain.read.format("hudi").option("hoodie.metadata.enable", "true")
    try:
        frame = reader.option("hoodie.enable.data.skipping", "true").load(str(path))
        rows = [row.asDict() for row in frame.where(condition).collect()]
    except (Py4JError, PySparkException):
        return _Heard(None)
    return _Heard(canonical(rows, life.model.types))


def _ours(life: Life, path: Path, condition: str) -> _Heard:
    usual = ph.table(life.uri).scan(condition).plan.notes
    try:
        scan = ph.table(str(path)).scan(condition)
        rows = scan.to_arrow().to_pylist()
    except HudiError:
        return _Heard(None)
    except Exception as error:
        raise Harm("scan fails", f"{type(error).__name__}: {error}") from error
    notes = {note.replace(str(path), life.uri) for note in scan.plan.notes}
    return _Heard(canonical(rows, life.model.types), frozenset(notes - {*usual}))


def _audited(path: Path) -> set[str]:
    """What the audit finds, cannot check, or fails with."""
    try:
        found = audit(HudiTable.open(str(path)), AuditOptions())
    except HudiError as error:
        return {str(error)}
    said = {f"{one.partition} {one.fault.value} {one.place}" for one in found.findings}
    return said | {*found.unchecked}


# ---- what can happen to a file


def _empty(file: Path, _random: Random) -> None:
    file.write_bytes(b"")


def _cut(file: Path, random: Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: random.randrange(len(content))])


def _zero(file: Path, _random: Random) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def _zero_a_part(file: Path, random: Random) -> None:
    content = bytearray(file.read_bytes())
    start = random.randrange(len(content))
    end = min(start + random.randrange(1, 200), len(content))
    content[start:end] = bytes(end - start)
    file.write_bytes(content)


def _fill_with_garbage(file: Path, random: Random) -> None:
    file.write_bytes(random.randbytes(file.stat().st_size))


def _delete(file: Path, _random: Random) -> None:
    file.unlink()


def _move(file: Path, random: Random) -> None:
    """To a directory beside its own, or out of the table's sight."""
    beside = sorted(one for one in file.parent.parent.iterdir() if one.is_dir())
    others = [one for one in beside if one != file.parent]
    file.rename(random.choice(others) / file.name if others else file.with_name("moved"))


def _replace(file: Path, random: Random) -> None:
    """Give it the content of another file of its kind.

    Hudi applies log files to the rows at the positions that they name, which are others then.
    """
    if [*file.parent.glob(f".{file.name.partition('_')[0]}_*.log.*")]:
        raise Inapplicable
    own = file.read_bytes()
    alike = [one for one in _files(file.parent.parent) if one.suffix == file.suffix]
    contents = [one.read_bytes() for one in alike]
    file.write_bytes(random.choice([one for one in contents if one != own] or [b"another"]))


def _remove_directory(file: Path, _random: Random) -> None:
    shutil.rmtree(file.parent)


_DAMAGES: Mapping[str, Callable[[Path, Random], None]] = {
    "emptied": _empty,
    "cut": _cut,
    "zeroed": _zero,
    "zeroed in part": _zero_a_part,
    "filled with garbage": _fill_with_garbage,
    "deleted": _delete,
    "moved": _move,
    "replaced by another": _replace,
    _REMOVED: _remove_directory,
}
OPERATIONS = (Operation("damage", Owner.WORLD, _damage),)
