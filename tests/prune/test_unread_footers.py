"""Footers that are not read when an answer is due: their files are kept, and that is said."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.statistics.column_stats import _FOOTER_READER
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest, PruneResult


@dataclass(frozen=True)
class Occupied:
    """The thread that reads footers has other work until it is released."""

    release: threading.Event

    def end(self) -> None:
        self.release.set()
        _FOOTER_READER.submit(int).result()


@pytest.fixture
def reader() -> Iterator[Occupied]:
    found = Occupied(threading.Event())
    _FOOTER_READER.submit(found.release.wait)
    yield found
    found.end()


def test_files_are_kept_until_their_footers_are_read(
    golden: Mapping[str, Path], reader: Occupied
) -> None:
    """A table without column_stats."""
    pruner = Pruner(PruneOptions(footers=True, footer_wait=0.05))

    def asked() -> PruneResult:
        request = PruneRequest(parse_predicate("id = -1"), zone="UTC")
        return pruner.prune(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]), request)

    waiting = asked()
    assert waiting.keep.all()
    assert "footers are still being read for id" in waiting.notes
    reader.end()
    answered = asked()
    assert not answered.keep.any()
    assert not [note for note in answered.notes if "still being read" in note]
