"""What is measured of a table with indexes that were advised."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.advice.estimates import Candidate
from pyhudi_expr.advice.index_costs import build_seconds
from pyhudi_expr.advice.ranking import Advice, advise
from pyhudi_expr.advice.sql_queries import read_queries
from pyhudi_expr.cli.commands.index import create
from pyhudi_expr.cli.options import comma_separated
from pyhudi_expr.cli.spark_session import key_values
from pyhudi_expr.index.catalog.index_sizes import IndexSizes
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import Verification, verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.table.hudi_table import HudiTable


def asking(path, asked):
    """The mean of the queries' files and bytes."""
    pruner = Pruner()
    found = [pruner.prune(path, PruneRequest(each.predicate)) for each in asked]
    return np.mean([(each.files_kept, each.bytes_kept) for each in found], axis=0)


def pace(spark, path, files):
    """Seconds that a build takes on this machine now, for one second that is said."""
    for _ in range(2):  # the first one of a session takes longer
        begun = time.perf_counter()
        execute(spark, f"CREATE INDEX warm ON '{path}' USING column_stats(text)")
        taken = time.perf_counter() - begun
        execute(spark, f"DROP INDEX warm ON '{path}'")
    return taken / build_seconds(Candidate("column_stats", ("text",)), files, rows=0)


@dataclass(frozen=True)
class Measured:
    """A table with the indexes that were advised for its queries, and then a commit of Hudi's.

    before, after: what the average query read, files and bytes; seconds: of each build by the
    index's columns, had the machine the pace of what is said; built, then: bytes of the indexes of
    some kinds before the commit and after it; verified: how they compare with the table then.
    """

    advice: Advice
    before: tuple[float, float]
    after: tuple[float, float]
    seconds: Mapping[tuple[str, ...], float]
    built: Mapping[tuple[str, ...], complex]
    then: Mapping[tuple[str, ...], complex]
    verified: Sequence[Verification]

    def costs(self, columns):
        """Of the index of these columns, as advised."""
        (found,) = (one for one in self.advice.recommendations if one.candidate.columns == columns)
        return found.costs


def measured(spark, spec, path, queries, kinds, later):
    """queries: texts; kinds: of indexes; later: the frame that the commit adds."""
    asked = read_queries(";".join(queries)).asked
    advice, before = advise(path, asked), asking(path, asked)
    second = pace(spark, path, len(HudiTable.open(path).listing().file_name))
    seconds = {
        each.candidate.columns: built(spark, each.statement) / second
        for each in advice.recommendations
    }
    after, there = asking(path, asked), index_bytes(path, kinds)
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
    return Measured(advice, tuple(before), tuple(after), seconds, there, then, verified)


def built(spark, statement):
    """Builds what was printed for a shell, in one shard. Returns the seconds that it took."""
    given = create.make_context("create", shlex.split(statement)[3:]).params
    columns = ", ".join(comma_separated(given["columns"]))
    listed = f"({columns})" if columns else ""
    asked = {**key_values(given["extra"]), "store": given["store"], "shards": "1"}
    options = ", ".join(f"{key} = '{value}'" for key, value in asked.items())
    begun = time.perf_counter()
    execute(
        spark,
        f"CREATE INDEX {given['name']} ON '{given['table']}' "
        f"USING {given['kind']} {listed} OPTIONS ({options})",
    )
    return time.perf_counter() - begun


def index_bytes(path, kinds):
    """Of the metadata table, by the index's columns: base files, and i times the log files."""
    table = HudiTable.open(path)
    return {
        status.columns: sum(size.base_bytes for size in found)
        + 1j * sum(size.log_bytes for size in found)
        for status in index_statuses(table)
        if status.kind in kinds
        for found in [IndexSizes(table).of(status)]
    }
