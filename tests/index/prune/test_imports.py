"""The imports of a new process before its first answer, which take most of its time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

_HEAVY = (
    *("pyarrow.parquet", "pyarrow.dataset", "sqlglot", "thrift", "pyspark", "rich", "pandas"),
    "asyncio",
)
#: Of the package itself, for the text of a predicate and a table with all indexes of keys.
_MOST_MODULES = 120

_OF_A_TREE = """
import pyarrow as pa
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.expr.nodes import Comparison
from pyhudi_expr.expr.nodes import Literal
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.prune import PruneRequest
predicate = Comparison(Op.EQ, Column(("id",)), Literal(1, pa.int64()))
assert Pruner().prune(sys.argv[1], PruneRequest(predicate)).files_total
"""
_OF_A_TEXT = """
import pyhudi_expr as ph
assert len(ph.table(sys.argv[1]).prune("txn_id = 'TXN-016'").kept_paths()) == 1
"""
_ON_THE_COMMAND_LINE = """
from pyhudi_expr.cli.main import main
assert main(["prune", sys.argv[1], "txn_id = 'TXN-016'", "--count"]) == 0
"""


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> Path:
    return golden["cow_v9_txns_simple_meta"]


def _imported(program: str, table: Path) -> set[str]:
    """Return the modules that a new process has after a program about a table."""
    whole = f"import sys\n{program}\nprint(*sys.modules)"
    command = [sys.executable, "-c", whole, str(table)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return set(ran.stdout.splitlines()[-1].split())


def test_an_answer_from_column_stats_imports_no_slow_package(table: Path) -> None:
    assert _imported(_OF_A_TREE, table).isdisjoint(_HEAVY)


def test_a_prune_imports_neither_slow_packages_nor_what_it_does_not_use(table: Path) -> None:
    imported = _imported(_OF_A_TEXT, table)
    own = {name for name in imported if name.partition(".")[0] == "pyhudi_expr"}
    assert imported.isdisjoint(_HEAVY)
    assert not {name for name in own if name.startswith(("pyhudi_expr.rows", "pyhudi_expr.manage"))}
    assert len(own) <= _MOST_MODULES


def test_the_command_line_imports_as_little_with_and_without_its_cache(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        assert _imported(_ON_THE_COMMAND_LINE, table).isdisjoint(_HEAVY)
    assert any(tmp_path.iterdir())
