"""A command that dies at any of its requests loses nothing, and its next run ends the work.

The process really dies, by SIGKILL, and the server never gets its n-th writing request: for each n
(in `make test` for every seventh one of three commands).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from devtools.s3.proxy import RecordingProxy
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR
from pyhudi_expr.tables.storage import Storage
from tests.manage.indexing import sparkless_indexes
from tests.manage.indexing.sparkless_indexes import BY_NAME, BY_NUMBER, OWN, rows
from tests.marks import long
from tests.mortal_processes import MortalProcesses
from tests.stored_files import StoredFiles

pytestmark = pytest.mark.s3

_TABLE = "cow_v8_complexkeygen_hivestyle"
_TIME = re.compile(r"\d{17}")
_MOST_REQUESTS = 100
_COMPLETED = re.compile(rf"{EXTENSION_DIR}/\.hoodie/timeline/(\d+)_\d+\.\w+$")
_HISTORY = re.compile(rf"{EXTENSION_DIR}/\.hoodie/(?:timeline|coverage)/(\d+)[_.].*")
_OTHERS = ("name = 'Alice'",)
"""Predicates on the other indexes."""


@dataclass(frozen=True)
class Case:
    """A command.

    Attributes:
        name: A function of `sparkless_indexes`.
        earlier: Those that ran before.
        others: The indexes that it does not concern.
        own: The index that it creates or drops.
    """

    name: str
    earlier: tuple[str, ...]
    others: frozenset[str] = frozenset({BY_NAME})
    own: str = ""


_BASE = ("bootstrap_metadata", "create_by_name")
_BOTH = (*_BASE, "create_by_number")
_TWO = frozenset({BY_NAME, BY_NUMBER})
_NONE = frozenset[str]()
CASES = {
    "create in the extension": Case("create_by_number", _BASE, own=BY_NUMBER),
    "create Hudi's": Case("create_of_hudi", ("create_by_name",), own=OWN),
    "drop of the extension": Case("drop_by_number", _BOTH, own=BY_NUMBER),
    "drop Hudi's": Case("drop_of_hudi", (*_BASE, "create_of_hudi"), own=OWN),
    "drop one that Hudi made": Case(
        "drop_of_hudi", (*_BASE, "create_of_hudi", "forget_registration"), own=OWN
    ),
    "refresh": Case("refresh_extension", _BOTH, _TWO),
    "compact": Case("compact_extension", (*_BOTH, "refresh_extension"), _TWO),
    "create the first one": Case("create_by_number", _BASE[:1], _NONE, BY_NUMBER),
    "drop the last one": Case("drop_by_number", (*_BASE[:1], "create_by_number"), _NONE, BY_NUMBER),
    "make a metadata table": Case("bootstrap_metadata", ("create_by_name",)),
    "turn virtual keys on": Case("enable_virtual_keys", _BASE[:1], _NONE),
    "turn virtual keys off": Case(
        "disable_virtual_keys", (*_BASE[:1], "enable_virtual_keys"), _NONE
    ),
}
_SHORT = ("create in the extension", "create Hudi's", "drop of the extension")
_STEP = 7


@dataclass(frozen=True)
class Seen:
    """What a reader sees."""

    paths: list[str]
    schema: str
    others: Mapping[str, State]
    kept: list[list[str]]


@pytest.fixture(scope="module")
def mortals(request: pytest.FixtureRequest) -> Iterator[MortalProcesses]:
    server = request.getfixturevalue("s3_server")
    proxy = request.getfixturevalue("_s3_proxy")
    environment = server.environment(proxy.endpoint)
    with MortalProcesses("tests.manage.indexing.sparkless_indexes", environment) as processes:
        yield processes


@pytest.fixture
def storage(s3_env: Mapping[str, str], s3_bucket: str, golden: Mapping[str, Path]) -> Storage:
    storage = Storage.open(f"s3://{s3_bucket}/t")
    StoredFiles.of_directory(golden[_TABLE]).restore(storage)
    return storage


@pytest.mark.parametrize(
    ("case", "step"), [*((name, _STEP) for name in _SHORT), *(long(name, 1) for name in CASES)]
)
def test_nothing_is_lost_wherever_a_command_dies(
    case: str, step: int, storage: Storage, s3_proxy: RecordingProxy, mortals: MortalProcesses
) -> None:
    chosen = CASES[case]
    for earlier in chosen.earlier:
        getattr(sparkless_indexes, earlier)(storage.uri)
    before, template = _seen(chosen, storage), StoredFiles.of_storage(storage)
    assert set(before.others) == chosen.others
    matches = _matches(storage)

    getattr(sparkless_indexes, chosen.name)(storage.uri)
    expected, state = _paths(storage), _own_state(chosen, storage)

    problems = []
    for n in range(step, _MOST_REQUESTS, step):
        template.restore(storage)
        with s3_proxy.die_at(n, mortals.kill) as death:
            mortals.run(chosen.name, storage.uri)
        if _seen(chosen, storage) != before or not _kept_matches(storage, matches):
            problems.append(f"{n}: readers see {_seen(chosen, storage)}")
        try:
            mortals.run(chosen.name, storage.uri)
        except AssertionError as error:
            problems.append(f"{n}: the next run fails: {error}")
            continue
        if _seen(chosen, storage) != before or not _kept_matches(storage, matches):
            problems.append(f"{n}: after the next run readers see {_seen(chosen, storage)}")
        if _own_state(chosen, storage) != state:
            problems.append(f"{n}: the next run leaves {_own_state(chosen, storage)}")
        found = _paths(storage)
        if found != expected:
            more, fewer = found - expected, expected - found
            problems.append(f"{n}: the next run leaves {[*more]} and lacks {[*fewer]}")
        if not death.happened:
            break
    assert not problems, "\n".join(problems)
    assert not death.happened
    assert n > 5


def _seen(case: Case, storage: Storage) -> Seen:
    table = HudiTable.open(storage.uri)
    listing = table.listing()
    statuses = {status.name: status.state for status in index_statuses(table)}
    return Seen(
        sorted(listing.paths(~listing.file_is_log)),
        str(table.schema()),
        {name: state for name, state in statuses.items() if name in case.others},
        _kept(storage, _OTHERS),
    )


def _own_state(case: Case, storage: Storage) -> State | None:
    statuses = index_statuses(HudiTable.open(storage.uri))
    return next((status.state for status in statuses if status.name == case.own), None)


def _matches(storage: Storage) -> Mapping[str, set[str]]:
    """The files with matches of predicates on each kind of index, by brute force."""
    found: dict[str, set[str]] = {}
    for row in rows(HudiTable.open(storage.uri)):
        number, key = row["intField"], f"id = {row['id']} AND name = '{row['name']}'"
        for predicate in (f"intField = {number}", key):
            found.setdefault(predicate, set()).add(str(row["path"]))
    return dict(list(found.items())[:3])


def _kept_matches(storage: Storage, matches: Mapping[str, set[str]]) -> bool:
    kept = _kept(storage, matches)
    return all(paths <= set(own) for paths, own in zip(matches.values(), kept, strict=True))


def _kept(storage: Storage, predicates: Iterable[str]) -> list[list[str]]:
    pruner = Pruner()
    found = (pruner.prune(storage.uri, PruneRequest(parse_predicate(p))) for p in predicates)
    return [sorted(result.kept_paths()) for result in found]


def _paths(storage: Storage) -> Counter[str]:
    """The paths of all files, without the times in them.

    The extension's completed commits and what they covered are history: later changes delete it.
    """
    paths = [entry.path for entry in storage.list(recursive=True)]
    completed = {match[1] for match in map(_COMPLETED.match, paths) if match}
    history = [match for match in map(_HISTORY.match, paths) if match and match[1] in completed]
    return Counter(_TIME.sub("T", path) for path in {*paths} - {match[0] for match in history})
