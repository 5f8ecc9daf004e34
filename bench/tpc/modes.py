"""The ways in which the queries run: which tables, and with which settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench.tpc import tables
from bench.tpc.data import Data
from devtools.ddl import create_with_handler

_AT_ONCE = " at once"
_PRUNING = "hudi.pruning.enabled"
_STATISTICS = "hive.stats.fetch.column.stats"


@dataclass(frozen=True)
class Mode:
    """A way in which the queries run.

    Attributes:
        name: Its name.
        form: The form of the facts (`bench.tpc.tables`), after which its database is named.
        settings: The session's settings.
    """

    name: str
    form: str
    settings: Mapping[str, str]

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of tables that it needs."""
        return (tables.COW, tables.MOR) if self.form == tables.MOR else (self.form,)

    def at_once(self, servers: int) -> str:
        """Return the name for results of which several servers had one each at the same time."""
        return f"{self.name}, {servers}{_AT_ONCE}"

    def ddl(self, data: Data) -> Iterator[str]:
        """Yield the statements that register the tables of its database."""
        yield f"CREATE DATABASE {self.form}"
        yield f"USE {self.form}"
        for table in data.suite.tables:
            form = self.form if tables.has_form(data, self.form, table) else tables.COW
            path = tables.path(data, form, table)
            if form != tables.PLAIN:
                yield create_with_handler(table, path)
                continue
            columns = ", ".join(f"`{name}` {kind}" for name, kind in tables.columns(data, table))
            yield f"CREATE EXTERNAL TABLE {table} ({columns}) STORED AS PARQUET LOCATION '{path}'"


def is_at_once(name: str) -> bool:
    """Return whether results with this name are of several servers at the same time."""
    return name.endswith(_AT_ONCE)


_ON = MappingProxyType({_PRUNING: "true", _STATISTICS: "true"})
_OFF = MappingProxyType({_PRUNING: "false", _STATISTICS: "true"})
MODES: Mapping[str, Mode] = MappingProxyType(
    {
        mode.name: mode
        for mode in (
            Mode("cow-on", tables.COW, _ON),
            Mode("cow-off", tables.COW, _OFF),
            Mode("mor-on", tables.MOR, _ON),
            Mode("mor-off", tables.MOR, _OFF),
            # The metastore has no statistics of plain tables.
            Mode("control", tables.PLAIN, MappingProxyType({_STATISTICS: "false"})),
        )
    }
)
"""All of them, by name: Hudi tables of both types with and without pruning, and plain Parquet."""
