"""The partitions of a table in Hive's metastore, by the plan of a query over all of them.

One statement for a table, however many partitions it has; DESCRIBE needs one for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyhudi_expr.hive.adoption import PartitionFormat
from pyhudi_expr.hive.metastore_table import FileFormat, MetastoreTable, TableName
from pyhudi_expr.hive.session import HiveSession
from pyhudi_expr.table.errors import HudiError

_SETTINGS: Mapping[str, str] = {
    "hive.explain.user": "false",
    # No file is listed, and no job is planned.
    "hive.fetch.task.conversion": "more",
    "hive.fetch.task.conversion.threshold": "-1",
    "hive.strict.checks.no.partition.filter": "false",
}
_STEP = 2
_Block = Mapping[str, str]


def partition_formats(
    session: HiveSession, name: TableName, table: MetastoreTable
) -> tuple[PartitionFormat, ...]:
    """Return the classes of each partition; () for a table without partitions.

    Raises:
        QueryError: Hive refuses to plan the query.
        HudiError: The plan cannot be read.
    """
    if not table.partition_keys:
        return ()
    session.set(_SETTINGS)
    shown = session.run(f"EXPLAIN EXTENDED SELECT * FROM {name}")
    lines = [line for row in shown for line in str(row[0]).split("\n")]
    found = tuple(_parsed(lines, table.partition_keys))
    listed = len(session.run(f"SHOW PARTITIONS {name}"))
    if len(found) != listed:
        raise HudiError(
            f"{name}: EXPLAIN EXTENDED shows {len(found)} partitions, SHOW PARTITIONS {listed}; was"
            " one added just now? Run this again"
        )
    return found


def _parsed(lines: list[str], keys: tuple[str, ...]) -> Iterator[PartitionFormat]:
    for start, line in enumerate(lines):
        if line.strip() != "Partition":
            continue
        block = _block(lines, start, keys)
        values = tuple(block[key] for key in keys if key in block)
        if len(values) == len(keys):
            yield PartitionFormat(
                values,
                FileFormat(block["input format:"], block["output format:"], block["serde:"]),
            )


def _block(lines: list[str], start: int, keys: tuple[str, ...]) -> _Block:
    """Return the classes and the values of the partition whose description starts there."""
    indent = _indent(lines[start]) + _STEP
    block: dict[str, str] = {}
    in_values = False
    for line in lines[start + 1 :]:
        depth, text = _indent(line), line.strip()
        if text and depth < indent:
            break
        if depth == indent:
            in_values = text == "partition values:"
            for name in ("input format:", "output format:", "serde:"):
                if text.startswith(name):
                    block.setdefault(name, text[len(name) :].strip())
        elif in_values and depth == indent + _STEP:
            key, _, value = line[depth:].partition(" ")
            if key.lower() in keys:
                block[key.lower()] = value
    return block


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
