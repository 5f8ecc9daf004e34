"""Hudi's own `column_stats` of a table's files, built by Hudi's writer in the JVM of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark.jobs.job_errors import jvm
from pyhudi_expr.tables.listing import TableView
from tests.truth.files import Files
from tests.truth.soundness import EvaluatedPredicate, Tally
from tests.truth.stored import TABLE, kept_among

_MOST_COLUMNS = 100


def build(spark: SparkSession, table: Path) -> None:
    """Lets Hudi make the metadata table of a table that has none, with all statistics."""
    hudi = jvm(spark).org.apache.hudi
    metadata = (
        hudi.common.config.HoodieMetadataConfig.newBuilder()
        .enable(True)
        .withMetadataIndexColumnStats(True)
        .withMaxColumnsToIndexForColStats(_MOST_COLUMNS)
        .withColumnStatsIndexParallelism(1)
        .build()
    )
    config = (
        hudi.config.HoodieWriteConfig.newBuilder()
        .withPath(str(table))
        .forTable(TABLE)
        .withMetadataConfig(metadata)
        .withEmbeddedTimelineServerEnabled(False)
        .build()
    )
    engine = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    storage = hudi.storage.hadoop.HadoopStorageConfiguration(spark._jsc.hadoopConfiguration())
    hudi.metadata.SparkHoodieBackedTableMetadataWriter.create(storage, config, engine).close()


def check(
    tally: Tally, table: Path, predicates: Sequence[EvaluatedPredicate], files: Files
) -> None:
    """Checks which files each predicate keeps by a table's own indexes."""
    pruner = Pruner()
    snapshot = pruner.open(str(table), TableView.SNAPSHOT, None)
    for evaluated in predicates:
        for front_end, question in evaluated.questions.items():
            request = PruneRequest(question.expression, semantics=question.semantics)
            paths = pruner.prune_snapshot(snapshot, request).kept_paths()
            ids = {path.partition("_")[0] for path in paths}
            kept = kept_among(ids, len(files.members))
            tally.add_kept(evaluated, files, front_end, "by Hudi's column_stats", kept)
