"""The lives see each past harm when its cause is restored.

An outsider found them first. Each is a short life of ordinary steps with the old fault in it; that
nothing else than the witnesses of every life is needed shows that lives can find others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from devtools.hiveserver import HiveServer
from devtools.tables import TableType
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.index.catalog import status
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.manage import virtual_keys
from pyhudi_expr.manage.hive.registering import HiveRegistration, RegistrationPlan
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.lost_files import RequiredBlocks, WrittenFiles
from tests.hive.adoption.hudi_sync import metastore_uri
from tests.lives.living import Place, replayed
from tests.lives.operations.our_commands import drawn_index
from tests.lives.sessions import Sessions
from tests.lives.shapes import Beginning, Shape, Step

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(0)]

_OF_KEYS = next(n for n in range(100) if drawn_index(Random(n))[:2] == ("keys_hudi", RECORD_INDEX))
_DAMAGES = 60
"""One of so many empties a log file of `files`: each directory has the same chance."""
_STATEMENTS = 20
"""So many times users change what Hive has registered, by some statements each."""


def of(*operations: str) -> list[Step]:
    return [Step(name, 1) for name in operations]


def ending(place: Place, shape: Shape, *operations: str) -> str:
    """How a life of these operations ends."""
    return place.live(shape, replayed(of(*operations))).ending


def test_keys_that_are_not_stored_again_are_missed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`virtual-keys disable` reported success, and wrote no file anew."""
    steps = ("enable-virtual-keys", "upsert", "disable-virtual-keys")
    assert ending(place, Shape(), *steps) == ""
    monkeypatch.setattr(virtual_keys, "slices_without_keys", lambda _table: [])
    monkeypatch.setattr(virtual_keys, "require_stored_keys", lambda _table: None)
    monkeypatch.setattr(virtual_keys, "outdated_statistics", lambda _table: [])
    assert ending(place, Shape(), *steps) in ("keys", "commit times", "spark fails", "scan")


def test_an_index_that_a_compaction_deletes_is_missed(place: Place, sessions: Sessions) -> None:
    """Without the table's index options, a procedure of Hudi's deletes what they do not name."""
    shape = Shape(TableType.MOR)
    create = Step("sql-create-index", _OF_KEYS)
    steps = [create, *of("upsert", "compaction-scheduleandexecute")]
    sessions.extended.conf.set("spark.pyhudi.indexes.keep", "false")
    try:
        assert place.live(shape, replayed(steps)).ending == "index"
    finally:
        sessions.extended.conf.set("spark.pyhudi.indexes.keep", "true")


def test_false_alarms_about_native_hfiles_are_heard(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit called a metadata table corrupt that Hudi's reader reads."""
    shape = Shape(beginning=Beginning.NATIVE_HFILES)
    assert ending(place, shape) == ""

    def scan(self: HFile) -> Iterator[Any]:
        if b"KEY_VALUE_VERSION" not in self.info:
            raise CorruptFile("an HFile", "its cells have no read point")
        return plain_scan(self)

    plain_scan = HFile.scan
    monkeypatch.setattr(HFile, "scan", scan)
    assert ending(place, shape) in ("audit", "scan fails", "index")


def test_files_that_an_emptied_log_listed_are_missed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer files were listed, and nothing was said of it."""

    def no_files(*_arguments: object) -> Iterator[tuple[str, str]]:
        yield from ()

    def no_blocks(_self: RequiredBlocks, _there: Collection[str | None]) -> list[str]:
        return []

    monkeypatch.setattr(WrittenFiles, "lost", no_files)
    monkeypatch.setattr(RequiredBlocks, "lost", no_blocks)
    damages = [Step("damage", seed) for seed in range(_DAMAGES)]
    lived = place.live(Shape(), replayed([Step("upsert", 1), *damages]))
    assert lived.ending in ("quieter than Hudi", "audit is silent")


def test_files_that_hive_deletes_are_missed(
    sessions: Sessions, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A table could be made a managed one, past its handler: DROP TABLE deleted the files."""
    steps = [Step("hive-statements", seed) for seed in range(_STATEMENTS)]
    with HiveServer(tmp_path_factory.mktemp("unguarded")) as hive:
        metastore = metastore_uri(hive, hive.line.lib, tmp_path)
        unguarded = Place(tmp_path / "unguarded", replace(sessions, hive=hive, metastore=metastore))
        assert unguarded.live(Shape(), replayed(steps)).ending == "hive"


def test_a_registration_that_stops_halfway_is_noticed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table was registered before those that describe it, and stayed without them."""

    def act(self: HiveRegistration, plan: RegistrationPlan) -> None:
        for step in plan.steps:
            for statement in step.statements.registering:
                self.session.run(statement)

    def restore(_self: HiveRegistration, _plan: RegistrationPlan) -> str:
        return ""

    steps = [Step("hive-register", seed) for seed in range(6)]
    assert place.live(Shape(), replayed(steps)).ending == ""
    monkeypatch.setattr(HiveRegistration, "act", act)
    monkeypatch.setattr(HiveRegistration, "restore", restore)
    assert place.live(Shape(), replayed(steps)).ending == "registration"


def test_an_index_without_files_that_is_listed_as_active_is_noticed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`index list` asked the table's properties alone."""

    def as_they_are(_catalog: object, found: Sequence[IndexStatus]) -> list[IndexStatus]:
        return [*found]

    monkeypatch.setattr(status, "_opened", as_they_are)
    damages = [Step("damage", seed) for seed in range(_DAMAGES)]
    steps = [Step("sql-create-index", _OF_KEYS), *damages]
    assert "listed as active" in str(place.live(Shape(), replayed(steps)).harm)
