"""Columns of doubles and floats with NaN at every place, both zeros, infinities and NULL.

Run as ``python values.py WRITER PATH`` in an environment that has the writer, it makes a file of it
(`Write.java` makes those of parquet-java): columns of 12 rows, of two rows a page where the writer
lets that be chosen.
"""

from __future__ import annotations

import math
import shutil
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

NAN, INF = math.nan, math.inf
#: NaN with its sign bit set.
NEGATIVE_NAN: float = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
ROWS = 12

_ENDS: Mapping[str, Sequence[float | None]] = {
    "none": [5.0, 7.0, 6.0],
    "first": [NAN, 5.0, 7.0],
    "middle": [5.0, NAN, 7.0],
    "last": [5.0, 7.0, NAN],
    "all": [NAN],
    "pages": [NAN, NAN, 5.0, 7.0, 6.0, 6.0, NAN, 9.0, 1.0, NAN, NAN, NAN],
    "negative": [NEGATIVE_NAN, -5.0, NAN, -7.0],
    "nulls": [None, NAN, 5.0, None, 7.0, None],
    "nulls_and_nan": [None, NAN],
    "infinity": [INF, NAN, 5.0],
    "infinities": [NAN, INF, -INF, NAN],
    "zeros": [0.0, -0.0, NAN],
    "zero": [0.0, 1.0, NAN, 2.0],
    "minus_zero": [-0.0, -1.0, -2.0, NAN],
    "zeros_alone": [-0.0, 0.0],
}
#: By the column's name, which begins with its type: f (float) or d (double).
COLUMNS: Mapping[str, Sequence[float | None]] = {
    f"{type_}_{name}": (list(ends) * ROWS)[:ROWS] for name, ends in _ENDS.items() for type_ in "fd"
}


def _arrow() -> Any:
    import pyarrow as pa

    types = {"f": pa.float32(), "d": pa.float64()}
    return pa.table({name: pa.array(own, types[name[0]]) for name, own in COLUMNS.items()})


def _pyarrow(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow(), path, data_page_size=16, write_batch_size=2, write_page_index=True)


def _polars(path: Path) -> None:
    import polars as pl

    types = {"f": pl.Float32, "d": pl.Float64}
    frame = pl.DataFrame(
        {name: pl.Series(own, dtype=types[name[0]]) for name, own in COLUMNS.items()}
    )
    frame.write_parquet(path, statistics=True)


def _duckdb(path: Path) -> None:
    import duckdb

    types = {"f": "FLOAT", "d": "DOUBLE"}
    columns = []
    for name, own in COLUMNS.items():
        values = ", ".join("NULL" if value is None else f"'{value}'" for value in own)
        columns.append(f"unnest([{values}]::{types[name[0]]}[]) AS {name}")
    duckdb.sql(f"COPY (SELECT {', '.join(columns)}) TO '{path}' (FORMAT parquet)")


def _arro3(path: Path) -> None:
    import arro3.io  # type: ignore[import-not-found]

    arro3.io.write_parquet(_arrow(), str(path), data_page_row_count_limit=2, write_batch_size=2)


def _datafusion(path: Path) -> None:
    import datafusion

    datafusion.SessionContext().from_arrow(_arrow()).write_parquet(str(path))


def _deltalake(path: Path) -> None:
    import deltalake  # type: ignore[import-not-found]

    directory = path.with_suffix(".d")
    deltalake.write_deltalake(str(directory), _arrow())
    (file,) = directory.glob("*.parquet")
    file.rename(path)
    shutil.rmtree(directory)


def _fastparquet(path: Path) -> None:
    import fastparquet  # type: ignore[import-not-found]
    import pandas as pd

    types = {"f": "float32", "d": "float64"}
    columns = {name: pd.Series(own, dtype=types[name[0]]) for name, own in COLUMNS.items()}
    fastparquet.write(str(path), pd.DataFrame(columns), stats=True)


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "pyarrow": _pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "arro3": _arro3,
    "datafusion": _datafusion,
    "deltalake": _deltalake,
    "fastparquet": _fastparquet,
}

if __name__ == "__main__":
    WRITERS[sys.argv[1]](Path(sys.argv[2]))
