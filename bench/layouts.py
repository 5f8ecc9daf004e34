"""Lay tables out along curves, and compare with Hudi's own clustering: time, and files touched."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench import layout_picture
from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables import layout_data
from bench.tables.layout_data import COLUMNS, Ranges
from devtools.runtime import WORK
from devtools.spark import session_settings, spark_session
from devtools.tables import TableSpec, create
from pyhudi_expr.manage.layout import Curve, Layout, Mapping, interleave
from pyhudi_expr.manage.layout.mappings import BITS, direct
from pyhudi_expr.manage.layout.selection import Size
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.tables.hudi_table import HudiTable

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
# Hudi starts a new file at an uncompressed size: compressed, its 64 files would become 160.
_CODEC = {"hoodie.parquet.compression.codec": "uncompressed"}
_STRATEGIES = {Curve.LINEAR: "linear", Curve.Z_ORDER: "z-order", Curve.HILBERT: "hilbert"}
_METHODS = {Mapping.DIRECT: "direct", Mapping.SAMPLED: "sample"}


Figure = tuple[str, float, str, str | None]
_Asked = dict[str, list[Ranges]]


@dataclass(frozen=True)
class _Laid:
    """The result of a run. shares: the share of files touched, by kind of query."""

    seconds: float
    files: int
    shares: dict[str, float]


@benchmark("layout-curves")
def layout_curves() -> Iterator[Measurement]:
    """Positions of rows on the z-order curve, and the picture of docs/layouts.md."""
    layout_picture.draw()
    yield Measurement("layout-curves: z-order of two longs", _speed(), "rows/s", ">= 5000000")


@benchmark("layouts-uniform")
def uniform() -> Iterator[Measurement]:
    """Layouts of 2,000,000 uniform rows here and by Hudi's clustering; 10 minutes."""
    yield from _in_own_process("uniform")


@benchmark("layouts-skewed")
def skewed() -> Iterator[Measurement]:
    """Layouts of 2,000,000 skewed rows here and by Hudi's clustering; 10 minutes."""
    yield from _in_own_process("skewed")


@benchmark("layouts-correlated")
def correlated() -> Iterator[Measurement]:
    """Layouts of 2,000,000 rows with correlated columns; 10 minutes."""
    yield from _in_own_process("correlated")


def _in_own_process(name: str) -> Iterator[Measurement]:
    """Run a benchmark in a process of its own, which releases Spark's memory."""
    command = [sys.executable, "-m", "bench.layouts", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for what, value, unit, bar in json.loads(done.stdout.splitlines()[-1]):
        yield Measurement(f"layouts-{name}: {what}", value, unit, bar)


def _speed() -> float:
    """Return rows per second of one core, from two columns of longs to positions on the curve."""
    rng = np.random.default_rng(1)
    columns = [pa.array(rng.integers(-(2**63), 2**63, _SPEED_ROWS)) for _ in range(2)]
    return _SPEED_ROWS / median_seconds(
        lambda: interleave([direct(column) for column in columns], BITS), runs=5
    )


def _figures(name: str) -> Iterator[Figure]:
    rows = layout_data.rows(name, ROWS)
    asked = layout_data.questions(rows)
    with spark_session("layouts", heap="5g") as spark:
        source = _written(spark, rows, name)
        ours: dict[Layout, _Laid] = {}
        theirs: dict[Layout, _Laid] = {}
        for layout in (_LAYOUTS[0], *_LAYOUTS):  # The first run warms both up.
            theirs[layout] = _by_hudi(spark, source, layout, asked)
            # As many files as Hudi has made: with more files, each holds less, and fewer of them
            # are touched.
            ours[layout] = _by_us(spark, source, layout, asked, theirs[layout].files)
    for layout in _LAYOUTS:
        own, hudis = ours[layout], theirs[layout]
        yield from _compared(layout, own, hudis)
    tiles = layout_data.ideal(rows, ours[_BEST].files)
    for kind, some in asked.items():
        share = layout_data.share_touched(tiles, some)
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


def _by_us(spark: SparkSession, source: Path, layout: Layout, asked: _Asked, files: int) -> _Laid:
    def run(table: Path) -> None:
        cluster(spark, str(table), layout, ClusterOptions(size=Size(files=files), writer=_CODEC))

    return _measured(source, f"here, {layout}", run, asked)


def _by_hudi(spark: SparkSession, source: Path, layout: Layout, asked: _Asked) -> _Laid:
    return _measured(
        source, f"Hudi, {layout}", lambda table: _hudi_lays_out(spark, table, layout), asked
    )


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
    """Write the rows in their order to a table of 64 files with statistics of the three columns."""
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


def _hudi_lays_out(spark: SparkSession, table: Path, layout: Layout) -> None:
    """Cluster the table by Hudi, into 60 to 100 files.

    Hudi estimates their sizes, and overestimates them for rows along a curve.
    """
    size = int(HudiTable.open(str(table)).listing().file_size.sum())
    options = {
        "hoodie.clustering.plan.strategy.target.file.max.bytes": -(-size // FILES),
        "hoodie.clustering.plan.strategy.max.bytes.per.group": 2 * size,
        "hoodie.clustering.plan.strategy.small.file.limit": size,
        "hoodie.layout.optimize.strategy": _STRATEGIES[layout.curve],
        "hoodie.layout.optimize.curve.build.method": _METHODS[layout.mapping],
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.column.stats.column.list": "i",
        "hoodie.embed.timeline.server": "false",
        **_CODEC,
    }
    # The procedure splits options at commas.
    listed = ",".join(f"{key}={value}" for key, value in options.items())
    columns = {"hoodie.metadata.index.column.stats.column.list": ",".join(COLUMNS)}
    with session_settings(spark, columns):
        done = spark.sql(
            f"CALL run_clustering(path => '{table}', order => '{','.join(COLUMNS)}',"
            f" op => 'scheduleAndExecute', options => '{listed}')"
        ).collect()
    assert len(done) == 1


def _files(table: Path) -> list[pa.Table]:
    """Return the rows of each file that the table has now."""
    opened = HudiTable.open(str(table))
    listing = opened.listing()
    paths = listing.paths(np.ones(listing.num_files, np.bool_))
    return [pq.read_table(table / path, columns=list(COLUMNS)) for path in paths]


if __name__ == "__main__":
    print(json.dumps(list(_figures(sys.argv[1]))))
