"""The ways in which the queries run: which tables, and with which settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench.tpc import tables
from bench.tpc.data import Data
from devtools.ddl import create_with_handler
from devtools.tables import TableType

_COW, _MOR = (type_.name.lower() for type_ in (TableType.COW, TableType.MOR))
_PRUNING = "hudi.pruning.enabled"
_STATISTICS = "hive.stats.fetch.column.stats"


@dataclass(frozen=True)
class Mode:
    """A way in which the queries run.

    Attributes:
        name: Its name.
        database: The database in Hive, which is named after the form of the facts.
        settings: The session's settings.
    """

    name: str
    database: str
    settings: Mapping[str, str]

    def ddl(self, data: Data) -> Iterator[str]:
        """Yield the statements that register the tables of its database."""
        yield f"CREATE DATABASE {self.database}"
        yield f"USE {self.database}"
        facts = tables.facts(data)
        for name in data.suite.tables:
            if self.database == tables.PLAIN:
                declared = ", ".join(
                    f"`{column}` {kind}" for column, kind in tables.columns(data, name)
                )
                location = tables.directory(data, tables.PLAIN) / name
                yield (
                    f"CREATE EXTERNAL TABLE {name} ({declared}) STORED AS PARQUET"
                    f" LOCATION '{location}'"
                )
            else:
                form = self.database if name in facts else _COW
                yield create_with_handler(name, tables.directory(data, form) / name)


_ON = MappingProxyType({_PRUNING: "true", _STATISTICS: "true"})
_OFF = MappingProxyType({_PRUNING: "false", _STATISTICS: "true"})
MODES: Mapping[str, Mode] = MappingProxyType(
    {
        mode.name: mode
        for mode in (
            Mode("cow-on", _COW, _ON),
            Mode("cow-off", _COW, _OFF),
            Mode("mor-on", _MOR, _ON),
            Mode("mor-off", _MOR, _OFF),
            # The metastore has no statistics of plain tables.
            Mode("control", tables.PLAIN, MappingProxyType({_STATISTICS: "false"})),
        )
    }
)
"""All of them, by name: Hudi tables of both types with and without pruning, and plain Parquet."""
