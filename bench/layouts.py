"""Laying tables out along curves, against Apache Hudi's own clustering: time, and files touched."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench import layout_data, layout_picture
from bench.layout_data import COLUMNS, DATA_SETS, Ranges
from bench.measuring import Measurement, benchmark, median_seconds, seconds
from devtools.runtime import WORK
from devtools.spark import session_settings, spark_session
from devtools.tables import TableSpec, create
from pyhudi_expr.layout import Curve, Layout, Mapping, interleave
from pyhudi_expr.layout.conversions import BITS, direct
from pyhudi_expr.layout.selection import Size
from pyhudi_expr.spark.clustering import ClusterOptions, cluster
from pyhudi_expr.table.hudi_table import HudiTable

ROWS = 2_000_000
FILES = 64
_ROOT = WORK / "bench" / "layouts"
_SPEED_ROWS = 2_000_000
_LAYOUTS = (
    Layout(COLUMNS, Curve.LINEAR),
    Layout(COLUMNS, Curve.Z_ORDER, Mapping.DIRECT),
    Layout(COLUMNS, Curve.HILBERT, Mapping.DIRECT),
    Layout(COLUMNS, Curve.Z_ORDER, Mapping.SAMPLED),
    Layout(COLUMNS, Curve.HILBERT, Mapping.SAMPLED),
)
_BEST = _LAYOUTS[-1]
# Hudi rolls a file over at a size that it takes before compression: compressed, its 64 files would
# become 160.
_CODEC = {"hoodie.parquet.compression.codec": "uncompressed"}
_STRATEGIES = {Curve.LINEAR: "linear", Curve.Z_ORDER: "z-order", Curve.HILBERT: "hilbert"}
_METHODS = {Mapping.DIRECT: "direct", Mapping.SAMPLED: "sample"}


Figure = tuple[str, float, str, str | None]
_Asked = dict[str, list[Ranges]]
_Run = Callable[[SparkSession, Path, Layout, _Asked], "_Laid"]


@dataclass(frozen=True)
class _Laid:
    """What a run made. shares: of the files touched, by kind of question."""

    seconds: float
    files: int
    shares: dict[str, float]


@benchmark("layouts")
def layouts() -> Iterator[Measurement]:
    """Layouts of 2,000,000 rows in 64 files here and by Hudi's clustering; 30 minutes."""
    layout_picture.draw()
    yield Measurement("layouts: z-order of two longs", _speed(), "rows/s", ">= 5000000")
    for name in DATA_SETS:
        # A process of its own gives Spark's memory back.
        command = [sys.executable, "-m", "bench.layouts", name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for what, value, unit, bar in json.loads(done.stdout.splitlines()[-1]):
            yield Measurement(f"layouts: {name} {what}", value, unit, bar)


def _speed() -> float:
    """Rows per second of one core, from two columns of longs to places on the z-order curve."""
    rng = np.random.default_rng(1)
    columns = [pa.array(rng.integers(-(2**63), 2**63, _SPEED_ROWS)) for _ in range(2)]
    return _SPEED_ROWS / median_seconds(
        lambda: interleave([direct(column) for column in columns], BITS), runs=5
    )


def _figures(name: str) -> Iterator[Figure]:
    rows = layout_data.rows(name, ROWS)
    asked = layout_data.questions(rows)
    best_possible = layout_data.ideal(rows, FILES)
    ideal = {kind: layout_data.share_touched(best_possible, some) for kind, some in asked.items()}
    del best_possible
    with spark_session("layouts", heap="5g") as spark:
        source = _written(spark, rows, name)
        del rows
        ours: dict[Layout, _Laid] = {}
        theirs: dict[Layout, _Laid] = {}
        sizes = _hudis_sizes(spark, source, asked)
        _by_us(spark, source, _LAYOUTS[0], asked)
        runs: list[tuple[dict[Layout, _Laid], _Run]] = [
            (ours, _by_us),
            (theirs, partial(_by_hudi, sizes)),
        ]
        for number, layout in enumerate(_LAYOUTS):
            for kept, run in runs if number % 2 else reversed(runs):
                kept[layout] = run(spark, source, layout, asked)
    for layout in _LAYOUTS:
        own, hudis = ours[layout], theirs[layout]
        yield from _compared(layout, own, hudis)
    for kind, share in ideal.items():
        hudis_best = min(laid.shares[kind] for laid in theirs.values())
        best = ours[_BEST].shares[kind]
        yield f"ideal k-d tiling, {kind}", 100 * share, "% of files", None
        yield f"{_named(_BEST)} / Hudi's best, {kind}", best / hudis_best, "x", "<= 1"
        yield f"{_named(_BEST)} / ideal, {kind}", best / share, "x", "<= 1.5"


def _compared(layout: Layout, ours: _Laid, hudis: _Laid) -> Iterator[Figure]:
    for who, laid in (("here", ours), ("Hudi", hudis)):
        yield f"{_named(layout)} {who}, time", laid.seconds, "s", None
        yield f"{_named(layout)} {who}, files", laid.files, "files", None
        for kind, share in laid.shares.items():
            yield f"{_named(layout)} {who}, {kind}", 100 * share, "% of files", None
    yield f"{_named(layout)} here / Hudi, time", ours.seconds / hudis.seconds, "x", "<= 1"


def _named(layout: Layout) -> str:
    mapping = "" if layout.curve is Curve.LINEAR else f" {layout.mapping.value}"
    return f"{layout.curve.value}{mapping}"


def _by_us(spark: SparkSession, source: Path, layout: Layout, asked: _Asked) -> _Laid:
    return _measured(source, f"here, {layout}", lambda table: _lay_out(spark, table, layout), asked)


def _by_hudi(
    sizes: dict[Curve, int], spark: SparkSession, source: Path, layout: Layout, asked: _Asked
) -> _Laid:
    def run(table: Path) -> None:
        _hudi_lays_out(spark, table, layout, sizes[layout.curve])

    return _measured(source, f"Hudi, {layout}", run, asked)


def _hudis_sizes(spark: SparkSession, source: Path, asked: _Asked) -> dict[Curve, int]:
    """The file sizes, in bytes, that Hudi is to be told for 64 files.

    It rolls files over by an estimate that is too large for rows along a curve, and its files would
    be half as many again: each would hold less, and less of them be touched.
    """
    size = int(HudiTable.open(str(source)).listing().file_size.sum()) // FILES
    curves = _LAYOUTS[1:]
    tried = _by_hudi({curves[0].curve: size}, spark, source, curves[0], asked)
    along = size * tried.files // FILES
    return {Curve.LINEAR: size, **dict.fromkeys((layout.curve for layout in curves), along)}


def _measured(source: Path, title: str, run: Callable[[Path], None], asked: _Asked) -> _Laid:
    table = _ROOT / "laid-out"
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(source, table)
    elapsed = seconds(lambda: run(table))
    files = _files(table)
    assert sum(file.num_rows for file in files) == ROWS
    shares = {kind: layout_data.share_touched(files, some) for kind, some in asked.items()}
    print(f"{title}: {elapsed:.1f} s, {len(files)} files, {shares}", file=sys.stderr)
    return _Laid(elapsed, len(files), shares)


def _written(spark: SparkSession, rows: pa.Table, name: str) -> Path:
    """The rows as they come, in a table of 64 files with statistics of the three columns."""
    shutil.rmtree(_ROOT, ignore_errors=True)
    _ROOT.mkdir(parents=True)
    parts = _ROOT / "rows"
    parts.mkdir()
    step = -(-ROWS // FILES)
    for number in range(FILES):
        pq.write_table(rows.slice(number * step, step), parts / f"{number:02d}.parquet")
    frame = spark.read.parquet(*(str(part) for part in sorted(parts.iterdir())))
    spec = TableSpec(name, stats_columns=COLUMNS, extra=_CODEC)
    with session_settings(spark, {"spark.sql.files.openCostInBytes": str(1 << 30)}):
        return create(frame, spec, _ROOT).path


def _lay_out(spark: SparkSession, table: Path, layout: Layout) -> None:
    cluster(spark, str(table), layout, ClusterOptions(size=Size(files=FILES), writer=_CODEC))


def _hudi_lays_out(spark: SparkSession, table: Path, layout: Layout, file_bytes: int) -> None:
    size = int(HudiTable.open(str(table)).listing().file_size.sum())
    options = {
        "hoodie.clustering.plan.strategy.target.file.max.bytes": file_bytes,
        "hoodie.clustering.plan.strategy.max.bytes.per.group": 2 * size,
        "hoodie.clustering.plan.strategy.small.file.limit": size,
        "hoodie.layout.optimize.strategy": _STRATEGIES[layout.curve],
        "hoodie.layout.optimize.curve.build.method": _METHODS[layout.mapping],
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.column.stats.column.list": "i",
        "hoodie.embed.timeline.server": "false",
        **_CODEC,
    }
    # The procedure takes options apart at commas.
    listed = ",".join(f"{key}={value}" for key, value in options.items())
    columns = {"hoodie.metadata.index.column.stats.column.list": ",".join(COLUMNS)}
    with session_settings(spark, columns):
        done = spark.sql(
            f"CALL run_clustering(path => '{table}', order => '{','.join(COLUMNS)}',"
            f" op => 'scheduleAndExecute', options => '{listed}')"
        ).collect()
    assert len(done) == 1


def _files(table: Path) -> list[pa.Table]:
    """The rows of each file that the table has now."""
    opened = HudiTable.open(str(table))
    listing = opened.listing()
    paths = listing.paths(np.ones(listing.num_files, np.bool_))
    return [pq.read_table(table / path, columns=list(COLUMNS)) for path in paths]


if __name__ == "__main__":
    print(json.dumps(list(_figures(sys.argv[1]))))
