"""The rows and the queries of a suite, from DuckDB's extensions (Python packages of their own)."""

import importlib.util
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench.tpc.suites import Suite
from devtools.runtime import RuntimeMissingError


@dataclass(frozen=True)
class Data:
    """The generated data of a suite.

    Attributes:
        suite: The suite.
        scale: Its scale factor: 1 is about 1 GB of text.
        directory: Where it is; other forms of the tables can be put beside it.
    """

    suite: Suite
    scale: float
    directory: Path

    def source(self, table: str) -> Path:
        """Return the Parquet file of a table."""
        return self.directory / "source" / f"{table}.parquet"

    def queries(self) -> Mapping[str, str]:
        """Return DuckDB's text of each query, by its number."""
        found: dict[str, str] = json.loads((self.directory / "queries.json").read_text())
        return found


def generated(suite: Suite, scale: float, directory: Path) -> Data:
    """Generate a suite's data in `directory`, unless this version of DuckDB has done so before.

    Args:
        suite: The suite.
        scale: The scale factor.
        directory: The directory, made anew.

    Raises:
        RuntimeMissingError: The package with DuckDB's extension is not installed.
    """
    found = Data(suite, scale, directory)
    marker = directory / "generated"
    if marker.is_file() and marker.read_text() == duckdb.__version__:
        return found
    shutil.rmtree(directory, ignore_errors=True)
    found.source("any").parent.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{_extension(suite.name)}'")
        connection.execute(f"CALL {suite.generator}(sf={scale})")
        for table in suite.tables:
            connection.execute(f"COPY {table} TO '{found.source(table)}' (FORMAT parquet)")
        rows = connection.execute(f"SELECT query_nr, query FROM {suite.name}_queries()").fetchall()
    queries = {str(number): text.strip().rstrip(";") for number, text in rows}
    (directory / "queries.json").write_text(json.dumps(queries, indent=1))
    marker.write_text(duckdb.__version__)
    return found


def _extension(name: str) -> Path:
    """Return the file of an extension, which a package of its name brings."""
    package = importlib.util.find_spec(f"duckdb_extension_{name}")
    for place in (package.submodule_search_locations or ()) if package else ():
        for file in Path(place).rglob("*.duckdb_extension"):
            return file
    raise RuntimeMissingError(f"no extension {name} of DuckDB: pip install duckdb-extension-{name}")
