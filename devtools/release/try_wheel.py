"""Prunes a golden table with the installed package, from outside of the checkout, kernel included.

`python try_wheel.py GOLDEN_TABLE.zip`; the rows are compared with and without pruning.
"""

import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq

import pyhudi_expr
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.mdt.bytes.kernel import library


def main() -> None:
    """Print what was pruned. Raises AssertionError if the package is another, or loses a row."""
    installed = Path(pyhudi_expr.__file__).parent
    assert Path(sys.prefix) in installed.parents, f"{installed} is not of this environment"
    assert library() is not None, "the wheel has no compiled kernel, or it cannot be loaded"
    with tempfile.TemporaryDirectory() as directory:
        shutil.unpack_archive(sys.argv[1], directory)
        table = next(Path(directory).rglob(".hoodie")).parent
        every, pruned = (
            Pruner().prune(str(table), PruneRequest(parse_predicate(predicate)))
            for predicate in ("region IS NULL OR region IS NOT NULL", "region = 'us'")
        )
        rows = [_rows(table, result.kept_paths()) for result in (every, pruned)]
        assert rows[0] == rows[1] > 0, f"{rows[1]} of {rows[0]} rows are left"
        assert pruned.files_kept < pruned.files_total
    print(
        f"pyhudi-expr {version('pyhudi-expr')}: {pruned.files_kept} of {pruned.files_total} files,"
        f" {rows[1]} rows"
    )


def _rows(table: Path, paths: list[str]) -> int:
    files = [pq.ParquetFile(table / path).read(columns=["region"]) for path in paths]
    return sum(file["region"].to_pylist().count("us") for file in files)


if __name__ == "__main__":
    main()
