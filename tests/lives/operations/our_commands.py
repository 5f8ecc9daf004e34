"""Operations of ours: statements in the session, and commands of `pyhudi`."""

from __future__ import annotations

import json
from random import Random

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.lives.life import Inapplicable, Life, Refused, refusal
from tests.lives.operations.mortality import killed_at_random
from tests.lives.operations.operation import Operation, Owner, always
from tests.lives.shapes import Keys

_KINDS = {
    "ranges": ("column_stats", "x,s,d"),
    "keys": ("record_index", ""),
    "texts": ("secondary_index", "s"),
    "doubles": ("secondary_index", "d"),
    "numbers": ("secondary_index", "x"),
    "blooms": ("bloom_filters", ""),
}
_OF_ROWS = ("record_index", "secondary_index", "keys_", "texts_", "doubles_", "numbers_")
"""How the names begin of the indexes that know rows."""
_STORES = ("hudi", "extension")
_ORDERS = ("ZORDER", "HILBERT", "LINEAR")
_LOCK = ("--writer-option", "hoodie.write.lock.wait_time_ms=20000")
_SECONDS = "10"
"""How long commands wait for others: work that is pending has nobody who does it meanwhile."""
_WAITING = ("--wait", _SECONDS)
_YES = "--yes"


# ---- indexes


def _create_by_statement(life: Life, random: Random) -> None:
    name, kind, columns, store = drawn_index(random)
    fields = f"({columns})" if columns else ""
    _state(
        life,
        f"CREATE INDEX IF NOT EXISTS {name} ON {{t}} USING {kind}{fields}"
        f" OPTIONS (store = '{store}', shards = '2')",
    )
    life.settled()


def _create_by_command(life: Life, random: Random) -> None:
    _create(life, random)


def _create(life: Life, random: Random) -> None:
    name, kind, columns, store = drawn_index(random)
    given = ("--columns", columns) if columns else ()
    life.settled()
    life.ours(
        "index",
        "create",
        life.uri,
        name,
        "--using",
        kind,
        *given,
        "--store",
        store,
        "--shards",
        "2",
        "--if-not-exists",
        *_WAITING,
    )


def _drop(life: Life, random: Random) -> None:
    name = _some_index(life, random)
    life.settled()
    before = life.indexes()
    life.ours("index", "drop", life.uri, name, *_WAITING, _YES)
    life.announced |= before.keys() - life.indexes().keys()


def _drop_by_statement(life: Life, random: Random) -> None:
    name = _some_index(life, random)
    life.settled()
    before = life.indexes()
    _state(life, f"DROP INDEX {name} ON {{t}}")
    life.announced |= before.keys() - life.indexes().keys()


def _refresh(life: Life, random: Random) -> None:
    name = _some_index(life, random)
    life.settled()
    life.ours("index", "refresh", life.uri, name, *_WAITING)
    life.announced.discard(name)


def _refresh_all(life: Life, _random: Random) -> None:
    life.settled()
    _state(life, "REFRESH INDEXES ON {t}")


def _verify(life: Life, random: Random) -> None:
    name = _some_index(life, random)
    if life.indexes()[name] == "active":
        life.ours("index", "verify", life.uri, name)


def _certify(life: Life, random: Random) -> None:
    """Others are not certified."""
    name = _some_index(life, random, _OF_ROWS)
    life.ours("index", "verify", life.uri, name, "--certify")


def _follow(life: Life, random: Random) -> None:
    """A write that refreshes the extension's indexes."""
    rows = life.model.drawn(random, life.model.some(random))
    life.settled()
    life.write(rows, "upsert", pyhudi__indexes__follow="true")
    life.model.put(rows)


# ---- files


def _optimize(life: Life, random: Random) -> None:
    order = random.choice(_ORDERS)
    columns = ", ".join(random.sample(["x", "s", "d", "id"], 2 if order != "LINEAR" else 1))
    life.settled()
    _state(
        life, f"OPTIMIZE {{t}} {order} BY ({columns}) OPTIONS (files = '4', wait = '{_SECONDS}')"
    )


def _cluster(life: Life, random: Random) -> None:
    columns = ",".join(random.sample(["x", "s", "d", "id"], 2))
    life.settled()
    life.ours("layout", "cluster", life.uri, "--columns", columns, *_WAITING, _YES)


# ---- metadata


def _repair(life: Life, _random: Random) -> None:
    """Nothing is wrong, so nothing may be repaired."""
    life.settled()
    life.ours("audit", life.uri, "--repair", *_WAITING, _YES)


def _repair_damage(life: Life, random: Random) -> None:
    """Statistics that are damaged are built again, and nothing else happens."""
    folder = life.path / ".hoodie" / "metadata" / "column_stats"
    files = [*folder.glob("*.hfile"), *folder.glob(".*.log.*")]
    files = sorted(one for one in files if one.suffix != ".crc" and one.stat().st_size)
    if not files:
        raise Inapplicable
    victim = random.choice(files)
    checksum = victim.with_name(f".{victim.name}.crc")
    whole, known = victim.read_bytes(), {*life.indexes()}
    life.settled()
    victim.write_bytes(bytes(len(whole)))
    checksum.unlink(missing_ok=True)
    try:
        life.ours("audit", life.uri, "--repair", *_WAITING, _YES)
    except Refused:
        if victim.parent.is_dir():
            victim.write_bytes(whole)
        else:  # what was wrong is gone, and could not be built again
            life.announced |= known
        raise


def _publish(life: Life, _random: Random) -> None:
    life.ours(
        "snapshot",
        life.uri,
        "--columns",
        "x,s",
        "--to",
        str(life.path.with_name(f"{life.name}-snapshots")),
    )


# ---- virtual keys


def _enable(life: Life, _random: Random) -> None:
    life.settled()
    life.ours("virtual-keys", "enable", life.uri, *_LOCK)
    life.keys = Keys.VIRTUAL


def _disable(life: Life, _random: Random) -> None:
    life.settled()
    life.ours("virtual-keys", "disable", life.uri, *_LOCK, *_WAITING, _YES)
    life.keys = Keys.STORED


def _rewrite(life: Life, _random: Random) -> None:
    life.settled()
    life.ours("virtual-keys", "rewrite", life.uri, "--commit-bytes", "1", *_WAITING, _YES)


def _report(life: Life, _random: Random) -> None:
    json.loads(life.ours("virtual-keys", "report", life.uri, "--json"))


# ---- deaths


def _die(life: Life, random: Random) -> None:
    """One of the other operations, killed at one of its changes of files."""
    operation = random.choice([one for one in _MORTAL if one.applies(life)])
    life.said.append(f"killed: {operation.name}")
    life.settled()
    known = {*life.indexes()}
    with killed_at_random(random) as death:
        operation.run(life, random)
    if death.happened:
        life.said.append("died")
        life.announced |= known


# ---- what they share


def _state(life: Life, statement: str) -> None:
    """Run a statement of ours in the extended session."""
    try:
        life.sql(statement)
    except (PySparkException, Py4JError) as error:
        raise refusal(str(error)) from error


def drawn_index(random: Random) -> tuple[str, str, str, str]:
    """Draw the name, kind, columns and store of an index."""
    name = random.choice(list(_KINDS))
    kind, columns = _KINDS[name]
    store = random.choice(_STORES)
    return f"{name}_{store}", kind, columns, store


def _some_index(life: Life, random: Random, beginnings: tuple[str, ...] = ("",)) -> str:
    names = sorted(name for name in life.indexes() if name.startswith(beginnings))
    if not names:
        raise Inapplicable
    return random.choice(names)


def _has_stored_keys(life: Life) -> bool:
    return life.keys is Keys.STORED


def _has_virtual_keys(life: Life) -> bool:
    return life.keys is Keys.VIRTUAL


def _operation(name: str, run, applies=always) -> Operation:
    return Operation(name, Owner.OURS, run, applies)


_MORTAL = (
    _operation("create-index", _create_by_command),
    _operation("drop-index", _drop),
    _operation("refresh-index", _refresh),
    _operation("enable-virtual-keys", _enable, _has_stored_keys),
    _operation("disable-virtual-keys", _disable, _has_virtual_keys),
    _operation("rewrite-keys", _rewrite, _has_virtual_keys),
    _operation("repair", _repair),
    _operation("cluster", _cluster),
)
OPERATIONS = (
    *_MORTAL,
    _operation("sql-create-index", _create_by_statement),
    _operation("sql-drop-index", _drop_by_statement),
    _operation("refresh-all", _refresh_all),
    _operation("verify-index", _verify),
    _operation("certify-index", _certify),
    _operation("follow", _follow, lambda life: bool(life.model.ids)),
    _operation("optimize", _optimize),
    _operation("repair-damage", _repair_damage),
    _operation("snapshot", _publish),
    _operation("report-keys", _report),
    _operation("die", _die),
)
