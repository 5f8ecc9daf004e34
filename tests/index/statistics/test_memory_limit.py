"""The memory limit for bounds holds, whatever the size of an index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.tables.synthetic import write_table

pytestmark = pytest.mark.slow

MB = 1 << 20
FILES, FILLERS = 60_000, 20
LIMIT = 4 * MB
#: Read and decoded at a time by two threads: 36 to 50 MB, by what else the machine does.
AT_WORK = 56 * MB
#: Freed memory goes back to the system, as far as glibc gives it back. Arrow's own pool and an
#: arena for each thread keep between 10 and 50 MB more, by the order in which threads run.
ALLOCATORS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}

CHILD = """
import sys
from bench.cold import peak
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.prune import PruneOptions
from pyhudi_expr.index.prune import PruneRequest

table, limit, predicate = sys.argv[1:]
pruner = Pruner(PruneOptions(cache_bytes=int(limit)))
pruner.prune(table, PruneRequest(parse_predicate("day = 'none'")))
listed = peak()
kept = pruner.prune(table, PruneRequest(parse_predicate(predicate))).files_kept
print(kept, peak() - listed)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wide") / "table"
    write_table(path, files=FILES, partitions=60, fillers=FILLERS)
    return path


def bytes_taken(table: Path, limit: int) -> int:
    """Bytes that evaluating all columns takes, besides the listing of the files."""
    fillers = [f"f{number:02d} > 5000" for number in range(FILLERS)]
    predicate = " OR ".join(["id = 5", "spread = 5", "amount > 1e9", "code < 'a'", *fillers])
    command = [sys.executable, "-c", CHILD, str(table), str(limit), predicate]
    env = os.environ | ALLOCATORS
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
    kept, nbytes = map(int, output.split())
    assert 1 <= kept <= 2  # one file for each of the two equalities
    return nbytes


def test_bounds_beyond_the_limit_are_streamed(table: Path) -> None:
    assert bytes_taken(table, LIMIT) <= LIMIT + AT_WORK


def test_without_the_limit_they_would_take_more(table: Path) -> None:
    assert bytes_taken(table, 1 << 40) > LIMIT + AT_WORK
