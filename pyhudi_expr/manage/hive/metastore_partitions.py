"""The partitions of a table in Hive's metastore, by the plan of a query over all of them.

That is one statement for a table, however many partitions it has; DESCRIBE needs one for each. The
latter is used where Hive cannot plan the query: without the class of an input format, say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pyhudi_expr.manage.hive.adoption import PartitionFormat
from pyhudi_expr.manage.hive.metastore_table import (
    FileFormat,
    MetastoreTable,
    TableName,
    partition_format,
)
from pyhudi_expr.manage.hive.session import HiveSession, QueryError

_SETTINGS: Mapping[str, str] = {
    "hive.explain.user": "false",
    # No file is listed, and no job is planned.
    "hive.fetch.task.conversion": "more",
    "hive.fetch.task.conversion.threshold": "-1",
    "hive.strict.checks.no.partition.filter": "false",
}
_CLASSES = ("input format:", "output format:", "serde:")
_STEP = 2
_Block = Mapping[str, str]


def partition_formats(
    session: HiveSession, name: TableName, table: MetastoreTable
) -> tuple[PartitionFormat, ...]:
    """Return the classes of each partition; () for a table without partitions.

    Raises:
        QueryError: Hive refuses to describe a partition.
    """
    keys = table.partition_keys
    if not keys:
        return ()
    listed = [_values(str(row[0])) for row in session.run(f"SHOW PARTITIONS {name}")]
    try:
        session.set(_SETTINGS)
        shown = session.run(f"EXPLAIN EXTENDED SELECT * FROM {name}")
    except QueryError:
        shown = []
    found = tuple(parsed([line for row in shown for line in str(row[0]).split("\n")], keys))
    if sorted(each.values for each in found) == sorted(listed):
        return found
    return tuple(
        PartitionFormat(values, partition_format(session, name, keys, values)) for values in listed
    )


def _values(partition: str) -> tuple[str, ...]:
    """Return the values in a partition's name, `day=1/city=Oslo`."""
    return tuple(unquote(pair.partition("=")[2]) for pair in partition.split("/"))


def parsed(lines: list[str], keys: tuple[str, ...]) -> Iterator[PartitionFormat]:
    """Return the partitions in the lines of EXPLAIN EXTENDED whose values are known."""
    for start, line in enumerate(lines):
        if line.strip() != "Partition":
            continue
        block = _block(lines, start, keys)
        if all(each in block for each in (*keys, *_CLASSES)):
            values = tuple(block[key] for key in keys)
            yield PartitionFormat(values, FileFormat(*(block[each] for each in _CLASSES)))


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
            for name in _CLASSES:
                if text.startswith(name):
                    block.setdefault(name, text[len(name) :].strip())
        elif in_values and depth == indent + _STEP:
            key, _, value = line[depth:].partition(" ")
            if key.lower() in keys:
                block[key.lower()] = value
    return block


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
