"""PyIceberg's `plan_files` on a table with the same files and statistics.

It is given what our synthetic table has: partitions by day and for each file the least and greatest
values of the same columns. `pip install 'pyhudi-expr[bench]'` brings it; `python -m bench.iceberg`
plans once.
"""

import shutil
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import cold, synthetic
from bench.measuring import Measurement, benchmark, median_seconds
from bench.questions import question_of
from devtools.runtime import WORK
from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.prune import Pruner, PruneRequest

_FILES, _PARTITIONS = 100_000, 100
_WAREHOUSE = WORK / "bench" / f"iceberg-{_FILES}"
_NAME = "bench.synthetic"
_COLUMNS = ("id", "spread", "amount", "code")
_WARM_RUNS, _PLANNED_RUNS, _COLD_ROUNDS = 31, 2, 3


@benchmark("iceberg")
def iceberg() -> Iterator[Measurement]:
    """100,000 files against PyIceberg's plan_files on equal statistics, warm and cold."""
    table = synthetic.ensure_written(_FILES, _PARTITIONS)
    _ensure_written()
    question = question_of(_FILES)
    expected = question.kept(_FILES)

    pruner, request = Pruner(), PruneRequest(parse_predicate(question.sql))
    planned = _opened()
    kept = pruner.prune(str(table), request).files_kept, _planned(planned)
    if kept != (expected, expected):
        raise ValueError(f"{kept} files are kept, {expected} match")
    ours = median_seconds(lambda: pruner.prune(str(table), request), _WARM_RUNS)
    theirs = median_seconds(partial(_planned, planned), _PLANNED_RUNS)
    title = f"iceberg: {_FILES:,} files, three leaves"
    yield Measurement(f"{title}: PyIceberg's plan_files", theirs, "s")
    yield Measurement(f"{title}: ours, warm", ours * 1e3, "ms")
    yield Measurement(f"{title}: warm, times faster", theirs / ours, "x", ">= 1000")

    runs = [
        (cold.run("bench.cold", str(table), question.sql), cold.run("bench.iceberg"))
        for _ in range(_COLD_ROUNDS)
    ]
    if any(run.kept != expected for pair in runs for run in pair):
        raise ValueError("a new process keeps other files")
    first, second = (statistics.median(pair[k].seconds for pair in runs) for k in (0, 1))
    yield Measurement(f"{title}: PyIceberg in a new process", second, "s")
    yield Measurement(f"{title}: ours in a new process", first, "s")
    yield Measurement(f"{title}: cold, times faster", second / first, "x", ">= 10")


def _opened() -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    location = {"uri": f"sqlite:///{_WAREHOUSE}/catalog.db", "warehouse": f"file://{_WAREHOUSE}"}
    return SqlCatalog("bench", **location).load_table(_NAME)


def _planned(table: Any) -> int:
    return len(list(table.scan(row_filter=question_of(_FILES).sql).plan_files()))


def _ensure_written() -> None:
    """The table in PyIceberg's form, written once by the code as it is now."""
    marker = _WAREHOUSE / "written-by"
    source = "".join(Path(str(f)).read_text() for f in (__file__, synthetic.__file__))
    if not marker.is_file() or marker.read_text() != source:
        shutil.rmtree(_WAREHOUSE, ignore_errors=True)
        _WAREHOUSE.mkdir(parents=True)
        _write()
        marker.write_text(source)


def _write() -> None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.conversions import to_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.typedef import Record
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType

    types = (LongType(), LongType(), DoubleType(), StringType())
    fields = [
        NestedField(number, name, kind, required=False)
        for number, (name, kind) in enumerate(zip(_COLUMNS, types, strict=True), start=1)
    ]
    location = {"uri": f"sqlite:///{_WAREHOUSE}/catalog.db", "warehouse": f"file://{_WAREHOUSE}"}
    catalog = SqlCatalog("bench", **location)
    catalog.create_namespace("bench")
    day = NestedField(len(fields) + 1, "day", StringType(), required=False)
    by_day = PartitionField(day.field_id, 1000, IdentityTransform(), day.name)
    table = catalog.create_table(_NAME, Schema(*fields, day), partition_spec=PartitionSpec(by_day))
    numbers = range(1, len(_COLUMNS) + 1)
    described = list(zip(numbers, types, synthetic.columns_of(_FILES, 0), strict=True))
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for k in range(_FILES):
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/{k}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(f"day-{k * _PARTITIONS // _FILES:03d}"),
                record_count=synthetic.ROWS_PER_FILE,
                file_size_in_bytes=8_000_000,
                value_counts=dict.fromkeys(numbers, synthetic.ROWS_PER_FILE),
                null_value_counts=dict.fromkeys(numbers, 0),
                lower_bounds={n: to_bytes(t, c.minimum[k]) for n, t, c in described},
                upper_bounds={n: to_bytes(t, c.maximum[k]) for n, t, c in described},
            )
            file.spec_id = table.metadata.default_spec_id
            append.append_data_file(file)


if __name__ == "__main__":
    cold.without_pandas()
    cold.report(_planned(_opened()))
