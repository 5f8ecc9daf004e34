"""Inspect a Spark plan: the files and columns it reads, and whether it depends on time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from pyhudi_expr.expr.nodes import Column, HudiExpression, Unknown, walk
from pyhudi_expr.spark.jobs.job_errors import JavaObject, jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_LOGICAL_RELATION = f"{_DATASOURCES}.LogicalRelation"
_FILES = f"{_DATASOURCES}.HadoopFsRelation"
_PARQUET = f"{_DATASOURCES}.parquet.ParquetFileFormat"
#: Except that of changes (CDC), which have their own columns.
_HUDI = ("org.apache.hudi.HoodieFileIndex", "org.apache.hudi.HoodieIncrementalFileIndex")


def leaves(plan: JavaObject) -> list[Any]:
    """Return the leaves of a plan and its subqueries, without references to its own parts."""
    below = [plan, *_elements(plan.subqueriesAll())]
    found = [leaf for part in below for leaf in _elements(part.collectLeaves())]
    return [leaf for leaf in found if str(leaf.nodeName()) != "CTERelationRef"]


def reads_files(leaf: JavaObject) -> bool:
    """Return whether a leaf reads a Hudi table, or Parquet files, with their own columns.

    Cached, checkpointed and local rows have columns that only share the names.
    """
    if _class(leaf) != _LOGICAL_RELATION or _class(leaf.relation()) != _FILES:
        return False
    return _is_hudi(leaf.relation()) or _class(leaf.relation().fileFormat()) == _PARQUET


def reads_table(spark: SparkSession, leaf: JavaObject, table: str) -> bool:
    """Return whether everything that a leaf (see `reads_files`) reads is below a base path."""
    files = leaf.relation()
    base = _qualified(spark, table)
    paths = [_qualified(spark, path.toString()) for path in _elements(files.location().rootPaths())]
    if _is_hudi(files):
        return paths == [base]
    below = [path for path in paths if path == base or path.startswith(f"{base}/")]
    return below == paths and not any(path.startswith(f"{base}/.hoodie") for path in paths)


def predicate_above(
    leaf: JavaObject, condition: JavaObject, predicate: HudiExpression
) -> HudiExpression:
    """Return what a condition directly above a leaf demands of the files' values.

    `predicate` is converted from it. Unless Hudi's reader reads, partition columns have the values
    of the paths.
    """
    if not condition.references().subsetOf(leaf.outputSet()):
        return Unknown("a condition on other columns than the table's")
    files = leaf.relation()
    stored = set(files.schema().fieldNames())
    if not _is_hudi(files):
        stored -= set(files.partitionSchema().fieldNames())
    for node in walk(predicate):
        if isinstance(node, Column) and node.path[0] not in stored:
            return Unknown(f"the column {node.path[0]}, which is not read from the files")
    return predicate


def depends_on_time(spark: SparkSession, plan: JavaObject) -> bool:
    """Return whether a plan uses the current time: ``now()``, or the text 'today' as a date."""
    rules = jvm(spark).org.apache.spark.sql.catalyst.optimizer
    replaced = rules.ReplaceExpressions.apply(plan)
    return has_current_time(spark, plan) or not rules.SpecialDatetimeValues.apply(
        replaced
    ).fastEquals(replaced)


def has_current_time(spark: SparkSession, tree: JavaObject) -> bool:
    """Return whether a plan or an expression has a function such as ``now()``."""
    patterns = jvm(spark).org.apache.spark.sql.catalyst.trees.TreePattern
    return bool(tree.containsPattern(patterns.CURRENT_LIKE()))


def _is_hudi(files: JavaObject) -> bool:
    return _class(files.location()) in _HUDI


def _qualified(spark: SparkSession, path: str) -> str:
    found = jvm(spark).org.apache.hadoop.fs.Path(path)
    system = found.getFileSystem(spark._jsc.hadoopConfiguration())
    return str(system.makeQualified(found).toString())


def _class(target: JavaObject) -> str:
    return str(target.getClass().getName())


def _elements(sequence: JavaObject) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(number) for number in range(sequence.size())]
