"""Statements that register a Hudi table in Hive: with the storage handler, or natively."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from devtools.tables import HudiTable, PartitionStyle, TableType

STORAGE_HANDLER = "io.pyhudi.hive.HudiStorageHandler"
HUDI_INPUT_FORMATS = {
    TableType.COW: "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    TableType.MOR: "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat",
}
"""Hudi's own input formats that read the newest rows of each type of table."""

_OUR_INPUT_FORMAT = "io.pyhudi.hive.HudiMergeOnReadInputFormat"
_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"


def create_with_handler(
    name: str, location: Path | str, properties: Mapping[str, str] | None = None
) -> str:
    """Return CREATE EXTERNAL TABLE with the storage handler, which takes the columns from Hudi.

    Args:
        name: The table's name in Hive.
        location: The Hudi table's base path, or its URI.
        properties: Its table properties.
    """
    statement = f"CREATE EXTERNAL TABLE {name} STORED BY '{STORAGE_HANDLER}' LOCATION '{location}'"
    if not properties:
        return statement
    inner = ", ".join(f"{_quoted(key)}={_quoted(value)}" for key, value in properties.items())
    return f"{statement} TBLPROPERTIES ({inner})"


def create_native(table: HudiTable, name: str, input_format: str | None = None) -> list[str]:
    """Return the statements that register a native table, as Hudi's own sync does.

    A null partition cannot be registered: Hive refuses to ADD it.

    Args:
        table: The table to register.
        name: The table's name in Hive.
        input_format: The class of the input format; None for Hudi's own.

    Returns:
        CREATE TABLE, and for a partitioned table the ALTER TABLE that adds its partitions.
    """
    partitions = set(table.spec.partitions)
    columns = dict(table.hive_columns())
    plain = {column: kind for column, kind in columns.items() if column not in partitions}
    keys = {column: columns[column] for column in table.spec.partitions}
    create = (
        f"CREATE EXTERNAL TABLE {name} ({_columns(plain)})"
        + (f" PARTITIONED BY ({_columns(keys)})" if keys else "")
        + f" ROW FORMAT SERDE '{_SERDE}'"
        + f" STORED AS INPUTFORMAT '{input_format or HUDI_INPUT_FORMATS[table.spec.type]}'"
        + f" OUTPUTFORMAT '{_OUTPUT_FORMAT}' LOCATION '{table.path}'"
    )
    added = [
        f" PARTITION ({_values(table, path)}) LOCATION '{table.path / path}'"
        for path in partition_paths(table)
    ]
    return [create, *([f"ALTER TABLE {name} ADD{''.join(added)}"] if keys else [])]


def create_adopted(
    columns: Sequence[Sequence[Any]], name: str, location: str, days: Sequence[str]
) -> list[str]:
    """Return the statements that register a table by day as the sync does, with our input format.

    Args:
        columns: What DESCRIBE says of the table by the storage handler.
        name: The table's name.
        location: Its URI.
        days: Its partitions' directories, "day=...".
    """
    stored = (
        f"ROW FORMAT SERDE '{_SERDE}' STORED AS INPUTFORMAT '{_OUR_INPUT_FORMAT}'"
        f" OUTPUTFORMAT '{_OUTPUT_FORMAT}'"
    )
    return _by_day(columns, name, stored, location, days)


def create_plain(
    columns: Sequence[Sequence[Any]], name: str, location: str, days: Sequence[str]
) -> list[str]:
    """Return the statements for Hive's own Parquet table of the files, see `create_adopted`."""
    return _by_day(columns, name, "STORED AS PARQUET", location, days)


def _by_day(
    columns: Sequence[Sequence[Any]], name: str, stored: str, location: str, days: Sequence[str]
) -> list[str]:
    plain = {str(one[0]): str(one[1]) for one in columns if one[0] not in ("day", "")}
    create = (
        f"CREATE EXTERNAL TABLE {name} ({_columns(plain)}) PARTITIONED BY (day string)"
        f" {stored} LOCATION '{location}'"
    )
    added = [
        f" PARTITION (day={_quoted(day.partition('=')[2])}) LOCATION '{location}/{day}'"
        for day in days
    ]
    return [create, f"ALTER TABLE {name} ADD{''.join(added)}"]


def partition_paths(table: HudiTable) -> tuple[str, ...]:
    """Return the partitions' paths relative to the base path, sorted; () without partitions."""
    return tuple(
        sorted(
            str(marker.parent.relative_to(table.path))
            for marker in table.path.rglob(".hoodie_partition_metadata")
            if ".hoodie" not in marker.relative_to(table.path).parts and marker.parent != table.path
        )
    )


def _values(table: HudiTable, path: str) -> str:
    parts = path.split("/")
    if table.spec.partition_style is PartitionStyle.HIVE:
        parts = [part.partition("=")[2] for part in parts]
    if table.spec.partition_style is not PartitionStyle.PLAIN:
        parts = [unquote(part) for part in parts]
    return ", ".join(
        f"`{column}`={_quoted(value)}"
        for column, value in zip(table.spec.partitions, parts, strict=True)
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _columns(columns: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
