"""Files that a look-up reads of a merge-on-read table, some of whose slices were updated since.

Hudi writes the table and its updates. In each updated slice a row is deleted, and another one has a
new value afterwards, so that counts do not account for the slice.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from bench.reporting.measuring import Measurement, seconds
from devtools.runtime import WORK
from devtools.spark import spark_session
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute

_SLICES, _ROWS = 1_000, 200
_SHARES = (1, 10, 50)
_WAIT = 2.0
"""Seconds that commands and Python programs wait for slices, and for footers."""
_MOST_QUESTIONS = 30
_EXTRA: Mapping[str, str] = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.compact.max.delta.commits": "100",
    "hoodie.embed.timeline.server": "true",
}
_SPEC = TableSpec("bench_updated", TableType.MOR, ordering="ts", stats_columns=None, extra=_EXTRA)


def updated_slices() -> Iterator[Measurement]:
    """Return the figures; this writes the table, which takes minutes."""
    yield Measurement("lookups: 1,000 slices, load at the start", os.getloadavg()[0], "processes")
    directory = WORK / "bench" / "updated-slices"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with spark_session("updated-slices") as spark:
        table = create(_rows(spark, "true", 1), _SPEC, directory)
        execute(spark, f"CREATE INDEX cities ON '{table.uri}' USING secondary_index(city)")
        extra = {**_EXTRA, **writer_options(table.uri), "hoodie.embed.timeline.server": "true"}
        table = replace(table, spec=replace(_SPEC, extra=extra))
        for share in _SHARES:
            updated = f"id < {share * _SLICES // 100 * _ROWS}"
            delete(table, _rows(spark, f"{updated} AND id % {_ROWS} = {share}", 1))
            upsert(table, _rows(spark, f"{updated} AND id % {_ROWS} = {100 + share}", 1 + share))
            yield from _asked(table, share)


def _rows(spark: SparkSession, where: str, version: int) -> DataFrame:
    return (
        spark.range(0, _SLICES * _ROWS, 1, _SLICES)
        .where(where)
        .selectExpr(
            "id", f"bigint({version}) AS ts", f"concat('city ', id, ' of ', {version}) AS city"
        )
    )


def _asked(table: HudiTable, share: int) -> Iterator[Measurement]:
    """Ask for a value that one updated slice holds, as often as files get fewer."""
    value = f"city {100 + share} of {1 + share}"
    request = PruneRequest(parse_predicate(f"city = '{value}'"))
    pruner = Pruner(PruneOptions(footer_seconds=0, footer_wait=_WAIT))
    title = f"lookups: 1,000 slices, {share}% updated"
    spent, kept = [0.0], [_SLICES]
    while kept[-1] > 1 and len(kept) <= _MOST_QUESTIONS:
        started = time.perf_counter()
        found = pruner.prune(table.uri, request)
        spent.append(time.perf_counter() - started)
        kept.append(int(found.keep.sum()))
    yield Measurement(f"{title}, slices read by the first question", kept[1], "slices")
    yield Measurement(f"{title}, the first answer", spent[1], "s")
    yield Measurement(f"{title}, questions until one is read", len(kept) - 1, "questions")
    yield Measurement(f"{title}, slices read then", kept[-1], "slices", "<= 1")
    again = seconds(lambda: pruner.prune(table.uri, request))
    yield Measurement(f"{title}, asked again", 1_000 * again, "ms")


if __name__ == "__main__":
    for measured in updated_slices():
        print(measured, flush=True)
