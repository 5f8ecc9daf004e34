"""If footers are not read in time, their files are kept, and a note says so."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.statistics.column_stats import _FOOTER_READER


@dataclass(frozen=True)
class BusyThread:
    """Keeps the thread that reads footers busy until it is released."""

    release: threading.Event

    def end(self) -> None:
        self.release.set()
        _FOOTER_READER.submit(int).result()


@pytest.fixture
def reader() -> Iterator[BusyThread]:
    found = BusyThread(threading.Event())
    _FOOTER_READER.submit(found.release.wait)
    yield found
    found.end()


def test_files_are_kept_until_their_footers_are_read(
    golden: Mapping[str, Path], reader: BusyThread
) -> None:
    """A table without column_stats."""
    pruner = Pruner(PruneOptions(footers=True, footer_wait=0.05))

    def prune_ids() -> PruneResult:
        request = PruneRequest(parse_predicate("id = -1"), semantics=here("UTC"))
        return pruner.prune(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]), request)

    early = prune_ids()
    assert early.keep.all()
    assert "footers are still being read for id" in early.notes
    reader.end()
    final = prune_ids()
    assert not final.keep.any()
    assert not [note for note in final.notes if "still being read" in note]
