"""Files that hold a column in another type than the table's lose no row.

Spark's reader of Hudi is the witness: it converts what files hold, each pair of types in its own
way, and evaluates the predicates. Files that it cannot read are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.semantics import Engine, here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.spark.indexes import create_index
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from tests.foreign_tables import ForeignFile, index_by_hudi, write_foreign_table

pytestmark = pytest.mark.spark

_FILES = 8
_FIRST_TYPED_VERSION = 9
"""Of tables whose `column_stats` say of what type a file's numbers are."""
_NOT_INDEXED = {
    True: {"int8", "int16", "uint32", "uint64", "int96"},
    False: {"fixed"},
}
"""The types of which Hudi makes no statistics: of typed ones, and of others."""
Draw = Callable[[random.Random], Any]


class Index(Enum):
    """Where the statistics come from."""

    HUDI = "Hudi's column_stats"
    OURS = "CREATE INDEX"
    FOOTERS = "footers"


def _whole(*centres: int) -> Draw:
    return lambda rng: rng.choice(centres) + rng.randrange(6)


def _clock(rng: random.Random) -> datetime:
    start = datetime(rng.choice([1890, 1969, 2020, 2999]), 3, 1)
    return start + timedelta(hours=rng.randrange(40), seconds=rng.randrange(9))


def _zoned(rng: random.Random) -> datetime:
    return _clock(rng).replace(tzinfo=timezone.utc)


def _decimal(*, scale: int, digits: int) -> Draw:
    def draw(rng: random.Random) -> Decimal:
        top = 10 ** rng.choice([2, digits])
        return Decimal(rng.randrange(-top + 1, top)).scaleb(-scale)

    return draw


def _float(rng: random.Random) -> float:
    return rng.choice([0.1, 0.3, 1.5, -2.7, 1e10, 1e300]) * rng.choice([1, 3])


def _small_float(rng: random.Random) -> float:
    return rng.choice([0.1, 0.3, 1.5, -2.7, 1e10]) * rng.choice([1, 3])


def _text(rng: random.Random) -> str:
    return rng.choice(["b", "c", "1970", "7", "é", "-3"])


_AS_INTEGER = {"store_decimal_as_integer": True}
_STORED: dict[str, tuple[pa.DataType, Draw, dict[str, Any]]] = {
    "int8": (pa.int8(), _whole(-9, 7), {}),
    "int16": (pa.int16(), _whole(-300, 7), {}),
    "int32": (pa.int32(), _whole(-70_000, 7, 2**31 - 9), {}),
    "int64": (pa.int64(), _whole(-(2**40), 7, 2**33, 1_600_000_000), {}),
    "uint32": (pa.uint32(), _whole(7, 2**32 - 9), {}),
    "uint64": (pa.uint64(), _whole(7, 2**63), {}),
    "float": (pa.float32(), _small_float, {}),
    "double": (pa.float64(), _float, {}),
    "decimal(9,2)": (pa.decimal128(9, 2), _decimal(scale=2, digits=9), {}),
    "decimal(9,2) as int": (pa.decimal128(9, 2), _decimal(scale=2, digits=9), _AS_INTEGER),
    "decimal(9,4)": (pa.decimal128(9, 4), _decimal(scale=4, digits=9), {}),
    "decimal(18,2) as int": (pa.decimal128(18, 2), _decimal(scale=2, digits=14), _AS_INTEGER),
    "decimal(38,10)": (pa.decimal128(38, 10), _decimal(scale=10, digits=25), {}),
    "boolean": (pa.bool_(), lambda rng: rng.random() < 0.5, {}),
    "date": (pa.date32(), lambda rng: _clock(rng).date(), {}),
    "clock ms": (pa.timestamp("ms"), _clock, {}),
    "clock us": (pa.timestamp("us"), _clock, {}),
    "instant ms": (pa.timestamp("ms", "UTC"), _zoned, {}),
    "instant us": (pa.timestamp("us", "UTC"), _zoned, {}),
    "int96": (pa.timestamp("us", "UTC"), _zoned, {"use_deprecated_int96_timestamps": True}),
    "string": (pa.string(), _text, {}),
    "binary": (pa.binary(), lambda rng: _text(rng).encode(), {}),
    "fixed": (pa.binary(4), lambda rng: _text(rng).encode().ljust(4, b"a")[:4], {}),
}


def _logical(type_: str, name: str, /, **parts: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **parts}


_COLUMNS: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "decimal(9,2)": _logical("bytes", "decimal", precision=9, scale=2),
    "fixed decimal(9,2)": _logical("fixed", "decimal", name="d", size=4, precision=9, scale=2),
    "decimal(15,4)": _logical("bytes", "decimal", precision=15, scale=4),
    "date": _logical("int", "date"),
    "timestamp-millis": _logical("long", "timestamp-millis"),
    "timestamp-micros": _logical("long", "timestamp-micros"),
    "local-timestamp-millis": _logical("long", "local-timestamp-millis"),
    "local-timestamp-micros": _logical("long", "local-timestamp-micros"),
    "string": "string",
    "bytes": "bytes",
    "fixed": {"type": "fixed", "name": "f", "size": 4},
}
_TIMES = [name for name in _COLUMNS if "timestamp" in name]


def _files(rng: random.Random, names: Sequence[str]) -> Iterator[ForeignFile]:
    for number, name in enumerate(names):
        type_, draw, options = _STORED[name]
        values = [draw(rng)] * rng.choice([1, 2]) + [draw(rng)] * rng.choice([0, 1])
        values += [None] * (rng.random() < 0.2)
        label = f"{number} {name}".replace("(", " ").replace(")", " ").replace(",", " ")
        yield ForeignFile(label.replace(" ", "-"), pa.array(values, type_), options)


def _literal(value: Any) -> str | None:
    """Return a value that Spark's reader gave as a literal; None for one that has none."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal() | int():
            return f"{value:f}" if isinstance(value, Decimal) else str(value)
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case bytes() | bytearray():
            return f"X'{bytes(value).hex()}'"
    return str(value)


def _read(spark: SparkSession, path: Path) -> DataFrame:
    options = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
    return spark.read.format("hudi").options(**options).load(str(path))


def _shown(column: str) -> str:
    """The column in a form that Python can hold, of which literals can be made."""
    if column.startswith("local-"):
        return """concat("TIMESTAMP_NTZ '", cast(c as string), "'")"""
    if column.startswith("timestamp-"):
        return """concat("TIMESTAMP '", cast(c as string), "'")"""
    if column == "date":
        return """concat("DATE '", cast(c as string), "'")"""
    return "cast(c as double)" if column == "float" else "c"


def _readable(
    spark: SparkSession, root: Path, column: str, files: Sequence[ForeignFile]
) -> list[ForeignFile]:
    """Return the files that Spark reads, as some types it refuses."""
    write_foreign_table(root, _COLUMNS[column], _FIRST_TYPED_VERSION, files)
    frame, found = _read(spark, root), []
    for file in files:
        try:
            frame.where(f"p = '{file.name}'").selectExpr(_shown(column)).collect()
        except (PySparkException, Py4JJavaError):
            continue
        found.append(file)
    return found


def _predicates(rng: random.Random, column: str, values: Sequence[Any]) -> list[str]:
    found = ["c IS NULL", "c IS NOT NULL"]
    is_shown_as_text = column in _TIMES or column == "date"
    literals = values if is_shown_as_text else [*map(_literal, values)]
    # Literals have years of four digits.
    for literal in sorted({text for text in literals if text is not None and "'+" not in text}):
        found += [f"c {op} {literal}" for op in rng.sample(["=", "<", "<=", ">", ">=", "<>"], 3)]
    return found


@pytest.mark.parametrize("index", Index)
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("kind", ["times", "others"])
def test_no_row_of_a_foreign_type_is_lost(
    spark: SparkSession, tmp_path: Path, index: Index, version: int, kind: str
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    others = [name for name in _COLUMNS if name not in _TIMES]
    column = rng.choice(_TIMES if kind == "times" else others)
    zone = rng.choice(["UTC", "Asia/Tokyo"])
    is_typed = version >= _FIRST_TYPED_VERSION
    barred = _NOT_INDEXED[is_typed] if index is Index.HUDI else set()
    names = rng.choices([name for name in _STORED if name not in barred], k=_FILES)
    if index is Index.HUDI and not is_typed:
        # These entries do not say whether a file's times are instants.
        zone = "UTC"
    settings = {"spark.sql.session.timeZone": zone}
    with session_settings(spark, settings):
        files = _readable(spark, tmp_path / "all", column, list(_files(rng, names)))
        _check(spark, tmp_path / "table", rng, files, (column, version, index, zone))


@pytest.mark.smoke("6")
@pytest.mark.parametrize("version", [6, 8])
def test_our_index_loses_no_time_of_another_unit(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    rng = random.Random(version)
    column, zone = "timestamp-micros", "UTC"
    names = ["instant ms", "clock ms", "int64", "instant us"] * 2
    with session_settings(spark, {"spark.sql.session.timeZone": zone}):
        files = _readable(spark, tmp_path / "all", column, list(_files(rng, names)))
        assert files
        _check(spark, tmp_path / "table", rng, files, (column, version, Index.OURS, zone))


def _check(
    spark: SparkSession,
    path: Path,
    rng: random.Random,
    files: Sequence[ForeignFile],
    case: tuple[str, int, Index, str],
) -> None:
    column, version, index, zone = case
    write_foreign_table(path, _COLUMNS[column], version, files)
    frame = _read(spark, path)
    values = [row[0] for row in frame.selectExpr(_shown(column)).collect()]
    predicates = _predicates(rng, column, values)
    truths = frame.selectExpr("p", *(f"({text}) AS q{n}" for n, text in enumerate(predicates)))
    rows = truths.collect()
    if index is Index.HUDI:
        index_by_hudi(spark, path, version, ["c"])
    elif index is Index.OURS:
        create_index(
            spark, CreateIndex("column_stats", str(path), COLUMN_STATS, ("c",)), BuildOptions()
        )
    pruner = Pruner(PruneOptions(footers=index is Index.FOOTERS, footer_wait=30.0))
    for number, text in enumerate(predicates):
        matching = {f"p={row.p}" for row in rows if row[f"q{number}"]}
        request = PruneRequest(parse_predicate(text, SPARK), semantics=here(zone, Engine.SPARK))
        result = pruner.prune(str(path), request)
        kept = {path.split("/")[0] for path in result.kept_paths()}
        assert matching <= kept, f"{case}: {text} lost rows of {matching - kept}"
