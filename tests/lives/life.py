"""One life: a real table, the rows that it must have, and what is known of its past."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.spark.virtual_keys.writing import service_options
from pyhudi_expr.spark.virtual_keys.writing import write as write_virtual
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.lives.model import Row, RowModel
from tests.lives.sessions import LOCK, CommandError, Sessions
from tests.lives.shapes import Keys, Ordering, Shape

TABLE = "living"
"""The name that each table gives itself: copies of a table have the same."""


class Harm(Exception):  # noqa: N818 - it is what the judge reports
    """What a table must not suffer has happened.

    Attributes:
        witness: Who saw it: a word that is the same each time.
    """

    def __init__(self, witness: str, text: str) -> None:
        super().__init__(f"{witness}: {text}")
        self.witness = witness


class Refused(Exception):  # noqa: N818 - no error of the judge
    """An operation of ours was refused with a reason; nothing may have changed."""


class Inapplicable(Exception):  # noqa: N818 - no error of the judge
    """The operation has nothing to do in this state."""


_TASKS = (
    "insert.shuffle",
    "upsert.shuffle",
    "delete.shuffle",
    "bulkinsert.shuffle",
    "bloom.index",
    "simple.index",
    "finalize.write",
    "markers.delete",
    "rollback",
    "file.listing",
    "cleaner",
    "clustering.max",
    "metadata.max.init",
    "metadata.index.bloom.filter",
    "metadata.index.column.stats",
    "metadata.index.partition.stats",
    "metadata.index.secondary",
)
"""What Hudi does in up to 200 tasks, where a table has some ten files."""
_FILE_GROUPS = (
    "record.index.min.filegroup",
    "record.index.max.filegroup",
    "global.record.level.index.min.filegroup",
    "global.record.level.index.max.filegroup",
    "index.column.stats.file.group",
    "index.bloom.filter.file.group",
)
"""Hudi makes ten for an index of keys."""


@dataclass(frozen=True)
class KeptFrame:
    """A DataFrame of an earlier step.

    Attributes:
        frame: It, of the session with the extension.
        plain: The same of the session without.
        columns: Its columns.
        states: The rows of the table then, and after each step since.
    """

    frame: DataFrame
    plain: DataFrame
    columns: tuple[str, ...]
    states: list[Sequence[tuple[Any, ...]]]


@dataclass
class Life:
    """What operations and witnesses know of a table."""

    shape: Shape
    path: Path
    sessions: Sessions
    model: RowModel
    keys: Keys = Keys.STORED
    undoable: str | None = None
    """The state before the newest write, if Hudi can roll that back."""
    savepoint: str | None = None
    saved_indexes: frozenset[str] = frozenset()
    """Those that the savepoint has."""
    saved_builds: frozenset[str] = frozenset()
    """The index actions before the savepoint."""
    saved_statistics: frozenset[str] = frozenset()
    """The files of `column_stats` at the savepoint."""
    frames: list[KeptFrame] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    """Of both sessions during this life."""
    said: list[str] = field(default_factory=list)
    """What operations reported that is worth knowing with a harm."""
    announced: set[str] = field(default_factory=set)
    """Indexes that are gone or not active because an operation said so."""
    writes: int = 0
    had_two_writers: bool = False
    """Whether two wrote at once: Hudi's `partition_stats` may leave out what one of them wrote."""
    notes: dict[str, str] = field(default_factory=dict)
    """The last of each kind of what is no harm, and worth a look."""

    @property
    def name(self) -> str:
        """The table's name in the catalog."""
        return self.path.name

    @property
    def uri(self) -> str:
        return str(self.path)

    def opened(self) -> HudiTable:
        """The table as the package opens it."""
        return HudiTable.open(self.uri)

    def newest(self) -> str:
        """The instant of the newest completed action."""
        instant = self.opened().instant
        assert instant is not None
        return instant

    def indexes(self) -> dict[str, str]:
        """The state of each index by its name, as `pyhudi index list` says."""
        return {name: one["state"] for name, one in self.described_indexes().items()}

    def described_indexes(self) -> dict[str, Mapping[str, Any]]:
        """What `pyhudi index list --json` says of each index, by its name."""
        listed = json.loads(self.sessions.command("index", "list", self.uri, "--json"))
        return {one["name"]: one for one in listed["indexes"]}

    # ---- Hudi's writers

    def options(self) -> dict[str, str]:
        """The options of Hudi's writers, the same for each write."""
        shape = self.shape
        generator = "Simple" if shape.is_partitioned else "Nonpartitioned"
        has_keys = str(self.keys is Keys.STORED).lower()
        return {
            "hoodie.table.name": TABLE,
            "hoodie.datasource.write.table.type": shape.type.value,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p" if shape.is_partitioned else "",
            "hoodie.datasource.write.keygenerator.class": (
                f"org.apache.hudi.keygen.{generator}KeyGenerator"
            ),
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.populate.meta.fields": has_keys,
            **({"hoodie.table.cdc.enabled": "true"} if shape.has_cdc else {}),
            **_ordering(shape),
            **self.settings,
            **self._without_metadata(),
        }

    def _without_metadata(self) -> dict[str, str]:
        """What Hudi's writers need if the metadata table that is declared is gone."""
        is_there = not self.path.exists() or (self.path / ".hoodie" / "metadata").exists()
        return {} if is_there else {"hoodie.metadata.enable": "false"}

    def frame(self, session: SparkSession, rows: Iterable[Row]) -> DataFrame:
        """Rows of Python as a DataFrame with the table's columns.

        They are literals: rows that Spark gets from Python pass through another process.
        """
        types = self.model.types
        values = ", ".join(
            f"({', '.join(_literal(row.get(name), type_) for name, type_ in types.items())})"
            for row in rows
        )
        return session.sql(f"SELECT * FROM VALUES {values} AS t({', '.join(types)})").coalesce(1)

    def write(
        self,
        rows: Iterable[Row] | DataFrame,
        operation: str,
        session: SparkSession | None = None,
        **more: str,
    ) -> None:
        """Write by Hudi, in the extended session unless another is given."""
        session = session or self.sessions.extended
        frame = rows if isinstance(rows, DataFrame) else self.frame(session, rows)
        extra = {name.replace("__", "."): value for name, value in more.items()}
        if self.keys is Keys.VIRTUAL:
            given = {**self.settings, **self._without_metadata(), **extra}
            write_virtual(frame, self.uri, operation, given)
        else:
            options = {**self.options(), **extra, "hoodie.datasource.write.operation": operation}
            frame.write.format("hudi").options(**options).mode("append").save(self.uri)
        self._refresh()

    def _refresh(self) -> None:
        """Let statements by name see a change that Spark's catalog does not learn of.

        An UPDATE by a listing that is older than a clustering looks for files that are gone.
        """
        for session in (self.sessions.plain, self.sessions.extended):
            if session.catalog.tableExists(self.name):
                session.catalog.refreshTable(self.name)

    def sql(self, statement: str) -> list[Any]:
        """Run a statement about the table in the extended session; `{t}` is its name."""
        session = self.sessions.extended
        with session_settings(session, self._without_metadata()):
            return session.sql(statement.replace("{t}", self.name)).collect()

    def call(self, procedure: str, session: SparkSession | None = None) -> list[Any]:
        """Call a procedure of Hudi's, in the extended session unless another is given."""
        session = session or self.sessions.extended
        with session_settings(session, self._without_metadata()):
            return session.sql(f"CALL {procedure.replace('{t}', self.name)}").collect()

    def service(self, procedure: str, arguments: str, *options: str) -> None:
        """Call a table service with options of its own, and those that the table's keys need.

        The latter are the session's: a procedure's own options cannot have commas.
        """
        needed = service_options(self.uri) if self.keys is Keys.VIRTUAL else {}
        named = f", options => '{','.join(options)}'" if options else ""
        with session_settings(self.sessions.extended, needed):
            self.call(f"{procedure}(table => '{{t}}', {arguments}{named})")

    def ours(self, *arguments: str) -> str:
        """Run a command of ours. Raises Refused, or Harm if it broke down."""
        try:
            return self.sessions.command(*arguments)
        except CommandError as failure:
            raise refusal(str(failure)) from failure
        finally:
            self._refresh()

    # ---- bookkeeping

    def note(self, what: str, text: str) -> None:
        """Count something that is no harm."""
        self.notes[what] = text

    def copied(self, path: Path) -> Life:
        """The same life at another place, whose rows change independently."""
        return replace(self, path=path, model=self.model.copied(), frames=[], said=[])

    def begins_write(self) -> None:
        """Remember the rows before a write, so that it can be rolled back."""
        self.writes += 1
        self.undoable = f"before write {self.writes}"
        self.model.remember(self.undoable)

    def settled(self) -> None:
        """What has been done cannot be rolled back as one write."""
        self.undoable = None

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Have the table in the catalog, and the life's settings in both sessions."""
        settings = {
            **self.settings,
            "hoodie.spark.sql.merge.into.partial.updates": str(merges_partly(self.shape)).lower(),
        }
        plain, extended = self.sessions.plain, self.sessions.extended
        with session_settings(plain, settings), session_settings(extended, settings):
            plain.sql(f"DROP TABLE IF EXISTS {self.name}")
            plain.sql(f"CREATE TABLE {self.name} USING hudi LOCATION '{self.uri}'")
            try:
                yield
            finally:
                plain.sql(f"DROP TABLE IF EXISTS {self.name}")


def refusal(text: str) -> Exception:
    """A refusal with a reason, or the harm that an operation broke down without one."""
    if "unexpected" in text or "NullPointerException" in text:
        return Harm("breakdown", text[:1500])
    return Refused(text[:1500])


def _literal(value: object, type_: str) -> str:
    """A value in Spark's SQL, of a type that allows NULL."""
    if value is None:
        return f"cast(NULL AS {type_})"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"if(true, cast('{text}' AS {type_}), NULL)"


def merges_partly(shape: Shape) -> bool:
    """Whether MERGE INTO may set some columns of a row only."""
    return shape.type is TableType.COW or shape.has_partial_logs


def _ordering(shape: Shape) -> Mapping[str, str]:
    if shape.ordering is Ordering.EVENT_TIME:
        return {
            "hoodie.datasource.write.precombine.field": "ord",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        }
    return {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}


def base_settings(shape: Shape) -> dict[str, str]:
    """Options of writers that a life keeps: nothing happens that no step asks for."""
    limit = str(1 << 20) if shape.has_small_files else "0"
    return {
        "hoodie.write.table.version": str(shape.version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.compact.inline": "false",
        "hoodie.parquet.small.file.limit": limit,
        "hoodie.embed.timeline.server.reuse.enabled": "true",
        "hoodie.time.generator.max_expected_clock_skew_ms": "1",
        **{f"hoodie.{what}.parallelism": "1" for what in _TASKS},
        **{f"hoodie.metadata.{name}.count": "2" for name in _FILE_GROUPS},
        **LOCK,
    }
