"""Measurements of a table whose recommended indexes were built."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.cli.commands.index import create
from pyhudi_expr.cli.spark_session import key_values
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.index_sizes import index_sizes
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.advice.estimates import Candidate, build_seconds
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import Advice, advise
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import Verification, verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import INDEXES_ALONE


def mean_kept(path, predicates):
    """The mean numbers of files and bytes that the predicates keep."""
    pruner = Pruner(INDEXES_ALONE)
    found = [pruner.prune(path, PruneRequest(each.predicate)) for each in predicates]
    return np.mean([(each.files_kept, each.bytes_kept) for each in found], axis=0)


def build_time_scale(spark, path, files):
    """The seconds of a build on this machine for each estimated second."""
    for _ in range(2):  # the first build of a session takes longer
        started = time.perf_counter()
        execute(spark, f"CREATE INDEX warm ON '{path}' USING column_stats(text)")
        seconds_taken = time.perf_counter() - started
        execute(spark, f"DROP INDEX warm ON '{path}'")
    return seconds_taken / build_seconds(Candidate("column_stats", ("text",)), files, rows=0)


@dataclass(frozen=True)
class Measurements:
    """A table with the indexes recommended for its queries, and a later commit by Hudi.

    before, after: the files and bytes of the average query. seconds: of each build, by the index's
    columns, scaled to the machine of the estimates. built, then: bytes of the indexes of some
    kinds, before and after the commit. verified: their verification after the commit.
    """

    advice: Advice
    before: tuple[float, float]
    after: tuple[float, float]
    seconds: Mapping[tuple[str, ...], float]
    built: Mapping[tuple[str, ...], complex]
    then: Mapping[tuple[str, ...], complex]
    verified: Sequence[Verification]

    def costs(self, columns):
        """The estimated costs of the index of these columns."""
        (found,) = (one for one in self.advice.recommendations if one.candidate.columns == columns)
        return found.costs


def measured(spark, spec, path, queries, kinds, later):
    """queries: as text. kinds: of indexes. later: the frame that the commit adds."""
    predicates = read_queries(";".join(queries)).queries
    advice, before = advise(path, predicates), mean_kept(path, predicates)
    scale = build_time_scale(spark, path, len(HudiTable.open(path).listing().file_name))
    seconds = {
        each.candidate.columns: build_from_command(spark, each.statement) / scale
        for each in advice.recommendations
    }
    after, built_bytes = mean_kept(path, predicates), index_bytes(path, kinds)
    writer = later.write.format("hudi").options(**{**spec.options(), **writer_options(path)})
    writer.option("hoodie.datasource.write.operation", "bulk_insert").mode("append").save(path)
    table = HudiTable.open(path)
    verified = [
        one
        for status in index_statuses(table)
        if status.kind in kinds
        for one in verify(spark, table, status)
    ]
    then = index_bytes(path, kinds)
    return Measurements(advice, tuple(before), tuple(after), seconds, built_bytes, then, verified)


def build_from_command(spark, statement):
    """Builds an index by a printed command, in one shard. Returns the seconds that it took."""
    given = create.make_context("create", shlex.split(statement)[3:]).params
    columns = ", ".join(given["columns"])
    listed = f"({columns})" if columns else ""
    build_options = {**key_values(given["extra"]), "store": given["store"], "shards": "1"}
    options = ", ".join(f"{key} = '{value}'" for key, value in build_options.items())
    started = time.perf_counter()
    execute(
        spark,
        f"CREATE INDEX {given['name']} ON '{given['table']}' "
        f"USING {given['kind']} {listed} OPTIONS ({options})",
    )
    return time.perf_counter() - started


def index_bytes(path, kinds):
    """Bytes by the index's columns: base files, and i times the log files."""
    table = HudiTable.open(path)
    return {
        status.columns: sum(size.base_bytes for size in found)
        + 1j * sum(size.log_bytes for size in found)
        for status in index_statuses(table)
        if status.kind in kinds
        for found in index_sizes(IndexCatalog.open(table), [status])
    }
