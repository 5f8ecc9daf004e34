"""The imports of a new process before its first answer, which take most of its time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_HEAVY = ("pyarrow.parquet", "pyarrow.dataset", "sqlglot", "thrift", "pyspark", "pandas")

_PROGRAM = f"""
import sys

class NoPandas:  # which pyarrow imports wherever it is installed
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import pyarrow as pa
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.expr.nodes import Comparison
from pyhudi_expr.expr.nodes import Literal
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.prune import PruneRequest
predicate = Comparison(Op.EQ, Column(("id",)), Literal(1, pa.int64()))
assert Pruner().prune(sys.argv[1], PruneRequest(predicate)).files_total
print([name for name in {_HEAVY} if name in sys.modules])
"""


def test_an_answer_from_column_stats_imports_no_slow_package(
    golden: Mapping[str, Path],
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    command = [sys.executable, "-c", _PROGRAM, table]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
