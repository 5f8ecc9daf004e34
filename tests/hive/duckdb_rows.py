"""The expected rows of a matrix table, computed by DuckDB without Hudi and Hive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa

from devtools.matrix import Row

_SCHEMA = pa.schema(
    [
        *(("id", pa.int64()), ("b", pa.bool_()), ("ti", pa.int32()), ("si", pa.int32())),
        *(("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64())),
        *(("dec9", pa.decimal128(9, 2)), ("dec38", pa.decimal128(38, 10))),
        *(("s", pa.string()), ("u", pa.string()), ("dt", pa.date32()), ("ts", pa.timestamp("us"))),
        ("bin", pa.binary()),
        (
            "st",
            pa.struct(
                [
                    ("a", pa.int32()),
                    ("b", pa.string()),
                    ("c", pa.struct([("d", pa.float64()), ("e", pa.date32())])),
                ]
            ),
        ),
        *(("n", pa.int32()), ("none", pa.int32()), ("arr", pa.list_(pa.int32()))),
        *(("m", pa.map_(pa.string(), pa.int32())), ("p", pa.string()), ("q", pa.int32())),
    ]
)


class KnownRows:
    """The rows of a matrix table, and of additional tables, under names for DuckDB's SQL.

    Timestamps are wall clocks of a zone, as in Hive.
    """

    def __init__(self, zone: str, **tables: Sequence[Row]) -> None:
        """Tables by their names."""
        self._tables = {
            name: pa.Table.from_pylist(
                [_as_hive_shows(row, ZoneInfo(zone)) for row in rows], _SCHEMA
            )
            for name, rows in tables.items()
        }

    def ids(self, where: str) -> list[int]:
        """Sorted rows of table `t`."""
        return [row[0] for row in self.query(f"SELECT id FROM t WHERE {where} ORDER BY id")]

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, in its order."""
        with duckdb.connect() as connection:
            for name, rows in self._tables.items():
                connection.register(name, rows)
            return connection.execute(query).fetchall()


def _as_hive_shows(row: Row, zone: ZoneInfo) -> dict[str, Any]:
    local = row["ts"].astimezone(zone).replace(tzinfo=None)
    return {**row, "ts": local, "m": list(row["m"].items())}
