"""Compute the statements that give a table of Hudi's sync our input format, and take it back.

Nothing is dropped: the table, its partitions, their locations, columns and all properties stay.
What the classes were before is kept in properties of the table, so the metastore alone is enough to
go back. The statements follow from what is there, so they can be computed and run again after a
failure, or after a run of the sync that has set its own input format again.

That is one statement for a table, however many partitions it has; DESCRIBE needs one for each. The
latter is used where Hive cannot plan the query: without the class of an input format, say.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from urllib.parse import unquote

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.metastore_table import (
    INPUT_FORMATS,
    FileFormat,
    MetastoreTable,
    TableName,
    partition_clause,
    partition_format,
    quote_identifier,
    quote_string,
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


RECORD = "pyhudi.adopted.from"
"""The table property with the table's former classes."""

PARTITION_RECORD = "pyhudi.adopted.partition."
"""With a number behind it: the former classes of a partition that was not as its table."""

PARQUET_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_OUTPUT_FORMAT = "io.pyhudi.hive.HudiOutputFormat"
_BASE_FILES, _MERGED = INPUT_FORMATS
OURS_FOR: Mapping[str, str] = {
    "org.apache.hudi.hadoop.HoodieParquetInputFormat": _BASE_FILES,
    "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat": _MERGED,
    # Of the option use_pre_apache_input_format.
    "com.uber.hoodie.hadoop.HoodieInputFormat": _BASE_FILES,
    "com.uber.hoodie.hadoop.realtime.HoodieRealtimeInputFormat": _MERGED,
}
"""Our input format for each of Hudi's."""
#: Each is a table property, which Hive copies to every task.
_MAX_RECORDS = 100
_SHOWN = 3


class NotAdoptable(HudiError):  # noqa: N818 - names the finding
    """The table stays as it is; the message says why."""


@dataclass(frozen=True)
class PartitionFormat:
    """A partition of the metastore, by the values of the table's partition keys."""

    values: tuple[str, ...]
    format: FileFormat


@dataclass(frozen=True)
class Readers:
    """A table of the metastore and the classes of its partitions, at one time."""

    table: MetastoreTable
    partitions: tuple[PartitionFormat, ...]

    @property
    def rest(self) -> MetastoreTable:
        """What neither `adoption` nor `undoing` changes, nor Hudi's sync after each commit."""
        return replace(self.table, input_format="", output_format="", serde="", properties={})

    def with_formats(
        self,
        of_table: FileFormat,
        of_partitions: tuple[PartitionFormat, ...],
        records: Mapping[str, str],
    ) -> Readers:
        """Return the same with other classes, and records of the former ones."""
        recorded = frozenset(_record_keys(self.table))
        kept = {key: text for key, text in self.table.properties.items() if key not in recorded}
        table = replace(
            self.table,
            input_format=of_table.input,
            output_format=of_table.output,
            serde=of_table.serde,
            properties={**kept, **records},
        )
        return Readers(table, of_partitions)


@dataclass(frozen=True)
class AdoptionPlan:
    """What there is to do.

    Attributes:
        statements: In order; none if nothing is to be done.
        partitions: How many partitions they change.
        after: What the readers are afterwards.
    """

    statements: tuple[str, ...]
    partitions: int
    after: Readers


def is_adopted(table: MetastoreTable) -> bool:
    """Return whether `adoption` has changed the table, though the sync may have set it back."""
    return RECORD in table.properties


def is_of_sync(table: MetastoreTable) -> bool:
    """Return whether Hudi's own input formats read it."""
    return table.handler is None and table.input_format in OURS_FOR


def is_ours(table: MetastoreTable) -> bool:
    """Return whether one of our input formats reads it, without the storage handler."""
    return table.handler is None and table.input_format in INPUT_FORMATS


def adoption(
    name: TableName, table: MetastoreTable, partitions: tuple[PartitionFormat, ...]
) -> AdoptionPlan:
    """Return the statements after which our input formats read the table and all its partitions.

    Raises:
        NotAdoptable: Something else than Hudi's input formats reads the table or a partition.
    """
    _check_table(table)
    table_is_ours = table.input_format in INPUT_FORMATS
    if table_is_ours and not is_adopted(table):
        if all(each.format == table.format for each in partitions):
            return AdoptionPlan((), 0, Readers(table, partitions))
        raise NotAdoptable(
            "its input format was set by hand, but not that of all partitions: set theirs by ALTER"
            " TABLE ... PARTITION (...) SET FILEFORMAT"
        )
    former = _former(table) if table_is_ours else table.format
    target = _ours(former)
    todo = [each for each in partitions if each.format != target]
    for each in todo:
        if each.format.input not in INPUT_FORMATS:
            _ours(each.format)
    records = _records(table, former, partitions)
    statements = [*_set_records(name, table, records)]
    if table.format != target:
        statements.append(_set_format(name, "", target))
    if todo:
        statements.append(_set_format(name, _every_partition(table), target))
    ours = tuple(replace(each, format=target) for each in partitions)
    after = Readers(table, partitions).with_formats(target, ours, records)
    return AdoptionPlan(tuple(statements), len(todo), after)


def undoing(
    name: TableName, table: MetastoreTable, partitions: tuple[PartitionFormat, ...]
) -> AdoptionPlan:
    """Return the statements that undo `adoption`: partitions that were added later become the same.

    Raises:
        NotAdoptable: It was not adopted.
    """
    if not is_adopted(table):
        raise NotAdoptable("it was not adopted: no former input format is recorded")
    former = _former(table) if table.input_format in INPUT_FORMATS else table.format
    exceptions = _recorded_partitions(table)
    wanted = {each.values: exceptions.get(each.values, former) for each in partitions}
    todo = [each for each in partitions if each.format != wanted[each.values]]
    statements = []
    if any(wanted[each.values] == former for each in todo):
        statements.append(_set_format(name, _every_partition(table), former))
    statements += [
        _set_format(name, partition_clause(table.partition_keys, values), exceptions[values])
        for values in wanted
        if todo and values in exceptions
    ]
    if table.format != former:
        statements.append(_set_format(name, "", former))
    statements += _set_records(name, table, {})
    back = tuple(replace(each, format=wanted[each.values]) for each in partitions)
    after = Readers(table, partitions).with_formats(former, back, {})
    return AdoptionPlan(tuple(statements), len(todo), after)


def differences(name: TableName, wanted: Readers, now: Readers) -> tuple[str, ...]:
    """Return the statements after which a table and its partitions have the wanted readers.

    Those of partitions that `wanted` does not have stay.
    """
    known = {each.values: each.format for each in wanted.partitions}
    todo = [
        _set_format(
            name, partition_clause(now.table.partition_keys, each.values), known[each.values]
        )
        for each in now.partitions
        if known.get(each.values, each.format) != each.format
    ]
    if now.table.format != wanted.table.format:
        todo.append(_set_format(name, "", wanted.table.format))
    records = {key: wanted.table.properties[key] for key in _record_keys(wanted.table)}
    return (*todo, *_set_records(name, now.table, records))


def _check_table(table: MetastoreTable) -> None:
    if "VIEW" in table.kind:
        raise NotAdoptable("it is a view")
    if table.handler is not None:
        raise NotAdoptable(f"the storage handler {table.handler} reads it")
    if table.buckets:
        raise NotAdoptable(
            "it has buckets (CLUSTERED BY), by which Hive picks files; register it by"
            " `pyhudi hive register` under another name"
        )
    if table.input_format not in INPUT_FORMATS:
        _ours(table.format)


def _ours(former: FileFormat) -> FileFormat:
    target = OURS_FOR.get(former.input)
    if target is None:
        raise NotAdoptable(f"{former.input or 'no input format'} reads it, not Hudi's input format")
    if former.serde != PARQUET_SERDE:
        raise NotAdoptable(f"its SerDe is {former.serde}, not Parquet's")
    return FileFormat(target, _OUTPUT_FORMAT, former.serde)


def _former(table: MetastoreTable) -> FileFormat:
    return FileFormat(**json.loads(table.properties[RECORD]))


def _recorded_partitions(table: MetastoreTable) -> dict[tuple[str, ...], FileFormat]:
    texts = [text for key, text in table.properties.items() if key.startswith(PARTITION_RECORD)]
    records = [json.loads(text) for text in texts]
    return {tuple(each.pop("values")): FileFormat(**each) for each in records}


def _records(
    table: MetastoreTable, former: FileFormat, partitions: tuple[PartitionFormat, ...]
) -> Mapping[str, str]:
    """Return the properties that say what the classes were.

    A partition that is ours already keeps what is recorded of it; one that is ours and of which
    nothing is recorded was adopted with the table, or added since, if the table was adopted.
    """
    known = _recorded_partitions(table) if is_adopted(table) else {}
    exceptions = {}
    for each in partitions:
        was = each.format
        if each.values in known and was.input in INPUT_FORMATS:
            was = known[each.values]
        elif is_adopted(table) and was.input in INPUT_FORMATS:
            was = former
        if was != former:
            exceptions[each.values] = was
    if len(exceptions) > _MAX_RECORDS:
        most = ", ".join(
            f"{count} by {is_.input}"
            for is_, count in Counter(exceptions.values()).most_common(_SHOWN)
        )
        raise NotAdoptable(
            f"{len(exceptions)} partitions are not read as the table ({most}); at most"
            f" {_MAX_RECORDS} can be recorded: set them by ALTER TABLE ... SET FILEFORMAT first"
        )
    numbered = enumerate(sorted(exceptions.items(), key=lambda item: item[0]))
    return {
        RECORD: json.dumps(asdict(former)),
        **{
            f"{PARTITION_RECORD}{number}": json.dumps({"values": values, **asdict(was)})
            for number, (values, was) in numbered
        },
    }


def _record_keys(table: MetastoreTable) -> Iterator[str]:
    return (key for key in table.properties if key == RECORD or key.startswith(PARTITION_RECORD))


def _set_records(
    name: TableName, table: MetastoreTable, records: Mapping[str, str]
) -> Iterator[str]:
    old = {key: table.properties[key] for key in _record_keys(table)}
    gone = ", ".join(quote_string(key) for key in old if key not in records)
    if gone:
        yield f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ({gone})"
    pairs = ", ".join(
        f"{quote_string(key)}={quote_string(text)}"
        for key, text in records.items()
        if old.get(key) != text
    )
    if pairs:
        yield f"ALTER TABLE {name} SET TBLPROPERTIES ({pairs})"


def _every_partition(table: MetastoreTable) -> str:
    """Return the clause for all partitions, which Hive changes in one step."""
    return f" PARTITION ({', '.join(map(quote_identifier, table.partition_keys))})"


def _set_format(name: TableName, partition: str, to: FileFormat) -> str:
    return (
        f"ALTER TABLE {name}{partition} SET FILEFORMAT"
        f" INPUTFORMAT {quote_string(to.input)} OUTPUTFORMAT {quote_string(to.output)}"
        f" SERDE {quote_string(to.serde)}"
    )
