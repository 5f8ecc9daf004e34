"""Random sequences of DDL statements about one Hudi table, and of raw calls to the metastore.

Whatever is executed or refused, the Hudi table's directory keeps each byte: that is the one thing
that is checked after each statement. A refused statement also leaves all registrations as they
were.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.ddl import create_with_handler
from pyhudi_expr.manage.hive.metastore_table import INPUT_FORMATS
from pyhudi_expr.manage.hive.session import HiveSession, QueryError
from tests.hive.query_results import Hive, QuerySession
from tests.hive.statements.manifest import manifest
from tests.hive.statements.raw_metastore import Raw, raw_calls

DATABASE, OTHER = "lives", "lives_elsewhere"
PARTITIONS = ("region=apac", "region=eu", "region=us")
STATEMENTS = 25
KINDS: Mapping[str, tuple[str, ...]] = {
    "3.1": ("", "EXTERNAL ", "TEMPORARY "),
    "4.0": ("", "EXTERNAL ", "TEMPORARY "),
    "4.1": ("", "EXTERNAL ", "TEMPORARY "),
    # HiveServer2 deletes the directory of a temporary table, and asks nobody.
    "4.2": ("", "EXTERNAL "),
}
"""The kinds of a native table over the directory, by the version of Hive."""
_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_SUFFIX = "org.apache.hadoop.hive.ql.io.parquet"
_TABLES = ("handled", "adopted", "viewed", "plain", "owned", "twin")
_VALUES: Mapping[str, tuple[str, ...]] = {
    "EXTERNAL": ("FALSE", "false", "TRUE", "", "no"),
    "external.table.purge": ("true", "TRUE", "false"),
    "auto.purge": ("true",),
    "storage_handler": ("org.apache.hadoop.hive.ql.metadata.DefaultStorageHandler", "none"),
    "TRANSLATED_TO_EXTERNAL": ("TRUE",),
    "hudi.metadata.view": ("files",),
    "note": ("a",),
}


@dataclass(frozen=True)
class Step:
    """A statement, and whether Hive has executed it."""

    statement: str
    refusal: str | None

    def __str__(self) -> str:
        """One line for a report."""
        outcome = "done" if self.refusal is None else f"refused: {self.refusal[:160]}"
        return f"{self.statement}\n    -> {outcome}"


class HarmedError(AssertionError):
    """A statement has changed the Hudi table's directory, or was refused halfway."""


@dataclass(frozen=True)
class Places:
    """The directories of a life.

    Attributes:
        root: The databases' directory, which a life begins with anew.
        hudi: The Hudi table's base path.
    """

    root: Path
    hudi: Path

    @property
    def elsewhere(self) -> Path:
        """A directory outside of the Hudi table."""
        return self.root / "elsewhere"


def run_lives(
    hive: Hive, metastore: str, version: str, table: Path, scratch: Path, count: int
) -> None:
    """Run new lives; DDL_SEED repeats those of a failure, whose report names the last seed.

    Args:
        hive: The HiveServer2.
        metastore: The URI at which its metastore listens.
        version: That of Hive, as 4.0.
        table: The Hudi table of which each life has a copy.
        scratch: A directory for the lives.
        count: The number of lives.
    """
    first = int(os.environ.get("DDL_SEED", random.randrange(1 << 32)))
    with hive.session({"hive.fetch.task.conversion": "more"}) as session:
        raw = raw_calls(session, metastore, hive.server.line.lib, scratch)
        for seed in range(first, first + count):
            print(f"DDL_SEED={seed}")
            Life(session, table, scratch / "lives", raw, KINDS[version], seed).run(STATEMENTS)


class Life:
    """The statements of one seed."""

    def __init__(
        self,
        session: QuerySession | HiveSession,
        seed_table: Path,
        root: Path,
        raw: Raw,
        kinds: Sequence[str],
        seed: int,
    ) -> None:
        self._session = session
        self._seed_table = seed_table
        self._root = root
        self._raw = raw
        self._kinds = kinds
        self._random = random.Random(seed)

    def run(self, length: int) -> list[Step]:
        """Run that many statements after those that register the table in each way.

        Raises:
            HarmedError: The Hudi table's directory has changed; the message lists the statements.
        """
        places = self._placed()
        before = manifest(places.hudi)
        steps: list[Step] = []
        try:
            steps.extend(self._step(statement) for statement in self._registrations(places))
            known = self._registered()
            for _ in range(length):
                steps.append(self._step(self._statement(places)))
                if manifest(places.hudi) != before:
                    raise HarmedError("the table's directory has changed:\n" + _shown(steps))
                last, known = known, self._registered()
                if steps[-1].refusal is not None and known != last:
                    raise HarmedError("a refused statement was half executed:\n" + _shown(steps))
        finally:
            self._forget()
        return steps

    def _placed(self) -> Places:
        """Copy the Hudi table to where it lies in this life: in a database, or beside it."""
        shutil.rmtree(self._root, ignore_errors=True)
        where = self._random.choice((DATABASE, f"{DATABASE}/deeper", "beside"))
        places = Places(self._root, self._root / where / self._random.choice(("owned", "hudi")))
        shutil.copytree(self._seed_table, places.hudi)
        places.elsewhere.mkdir()
        return places

    def _registrations(self, places: Places) -> Iterator[str]:
        for database in (DATABASE, OTHER):
            yield f"CREATE DATABASE {database} LOCATION '{places.root / database}'"
        yield f"USE {DATABASE}"
        for table in _TABLES:
            yield from self._creation(table, places)

    def _creation(self, table: str, places: Places) -> Iterator[str]:
        hudi = str(places.hudi)
        if table == "handled":
            yield create_with_handler(table, hudi, self._properties())
        elif table == "viewed":
            yield create_with_handler(table, hudi, {"hudi.metadata.view": "files"})
        elif table == "adopted":
            yield self._partitioned(table, hudi, INPUT_FORMATS[0])
            added = "".join(
                f" PARTITION ({_values(each)}) LOCATION '{hudi}/{each}'" for each in PARTITIONS
            )
            yield f"ALTER TABLE {table} ADD IF NOT EXISTS{added}"
        elif table == "twin":
            yield self._partitioned(table, str(places.elsewhere), INPUT_FORMATS[0])
        else:
            kind = self._random.choice(self._kinds if table == "owned" else ("EXTERNAL ",))
            yield (
                f"CREATE {kind}TABLE {table} (txn_id string) STORED AS PARQUET"
                f" LOCATION '{self._location(places)}'{_properties(self._properties())}"
            )

    def _partitioned(self, table: str, location: str, input_format: str) -> str:
        return (
            f"CREATE EXTERNAL TABLE {table} (txn_id string) PARTITIONED BY (region string)"
            f" ROW FORMAT SERDE '{_SERDE}' STORED AS INPUTFORMAT '{input_format}'"
            f" OUTPUTFORMAT 'io.pyhudi.hive.HudiOutputFormat' LOCATION '{location}'"
        )

    def _statement(self, places: Places) -> str:
        kinds: tuple[Callable[[Places], str], ...] = (
            self._created,
            self._altered,
            self._altered,
            self._altered,
            self._of_partition,
            self._of_partition,
            self._removed,
            self._removed,
            self._raw_call,
            self._raw_call,
            self._raw_call,
        )
        return self._random.choice(kinds)(places)

    def _created(self, places: Places) -> str:
        if self._random.random() < 0.1:
            return f"CREATE DATABASE IF NOT EXISTS {DATABASE} LOCATION '{places.root / DATABASE}'"
        table = self._table()
        return self._random.choice(tuple(self._creation(table, places)))

    def _altered(self, places: Places) -> str:
        key = self._random.choice(tuple(_VALUES))
        value = self._random.choice(_VALUES[key])
        name = f"{self._table()}" if self._random.random() < 0.5 else "handled"
        changes = (
            f"SET TBLPROPERTIES ('{key}'='{value}')",
            f"SET TBLPROPERTIES ('{key}'='{value}')",
            f"SET TBLPROPERTIES ('EXTERNAL'='FALSE', '{key}'='{value}')",
            f"UNSET TBLPROPERTIES ('{key}')",
            f"UNSET TBLPROPERTIES IF EXISTS ('EXTERNAL', '{key}')",
            f"SET LOCATION '{self._location(places)}'",
            f"RENAME TO {self._random.choice((DATABASE, OTHER))}.{self._table()}",
            f"SET FILEFORMAT {self._random.choice(('PARQUET', 'TEXTFILE'))}",
            f"SET FILEFORMAT INPUTFORMAT '{_SUFFIX}.MapredParquetInputFormat'"
            f" OUTPUTFORMAT '{_SUFFIX}.MapredParquetOutputFormat' SERDE '{_SERDE}'",
            "SET SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'",
            "ADD COLUMNS (more int)",
            "REPLACE COLUMNS (txn_id string)",
        )
        return f"ALTER TABLE {name} {self._random.choice(changes)}"

    def _of_partition(self, places: Places) -> str:
        table = self._random.choice(("adopted", "twin", self._table()))
        one = f"PARTITION ({_values(self._random.choice(PARTITIONS))})"
        other = self._random.choice(("twin", "adopted"))
        changes = (
            f"ADD IF NOT EXISTS {one}",
            f"ADD IF NOT EXISTS {one} LOCATION '{self._location(places)}'",
            f"DROP IF EXISTS {one}{self._purge()}",
            f"{one} SET LOCATION '{self._location(places)}'",
            f"{one} RENAME TO PARTITION (region='moved')",
            f"EXCHANGE {one} WITH TABLE {other}",
            f"EXCHANGE {one} WITH TABLE {other}",
        )
        return f"ALTER TABLE {table} {self._random.choice(changes)}"

    def _removed(self, _: Places) -> str:
        table = self._table()
        removals = (
            f"TRUNCATE TABLE {table}",
            f"TRUNCATE TABLE adopted PARTITION ({_values(self._random.choice(PARTITIONS))})",
            f"DROP TABLE IF EXISTS {table}{self._purge()}",
            f"DROP TABLE IF EXISTS {table}{self._purge()}",
            f"DROP DATABASE {DATABASE} CASCADE",
        )
        return self._random.choice(removals)

    def _raw_call(self, places: Places) -> str:
        key = self._random.choice(tuple(_VALUES))
        value = self._random.choice(_VALUES[key]) or "x"
        table, partition = self._table(), self._random.choice(PARTITIONS)
        calls = (
            ("alter", table, f"{key}={value}"),
            ("alter", table, "-EXTERNAL type=MANAGED_TABLE"),
            ("alter", table, "EXTERNAL=FALSE type=MANAGED_TABLE -storage_handler"),
            ("alter", table, f"-{key}"),
            ("alter", table, f"name={self._table()}"),
            ("alter", table, f"location={self._location(places)}"),
            ("alter", table, f"location={places.elsewhere}/x REPL_DATA_LOCATION_CHANGED=true"),
            ("drop_table", table, ""),
            ("drop_table", table, ""),
            ("drop_database", "", ""),
            ("truncate", table, ""),
            ("truncate", table, ""),
            ("drop_partition", "adopted", partition),
            ("exchange", "adopted", f"{partition} twin"),
        )
        name, table, argument = self._random.choice(calls)
        return self._raw(name, DATABASE, table, argument)

    def _table(self) -> str:
        return self._random.choice(_TABLES)

    def _purge(self) -> str:
        return self._random.choice(("", " PURGE"))

    def _properties(self) -> Mapping[str, str]:
        some = {"external.table.purge": "true", "EXTERNAL": "FALSE", "note": "b"}
        key = self._random.choice((None, None, *some))
        return {} if key is None else {key: some[key]}

    def _location(self, places: Places) -> Path:
        hudi = places.hudi
        return self._random.choice(
            (
                hudi,
                hudi,
                hudi / PARTITIONS[0],
                hudi / ".hoodie",
                hudi / "new",
                hudi.parent,
                places.root,
                places.elsewhere,
            )
        )

    def _step(self, statement: str) -> Step:
        try:
            self._session.run(statement)
        except QueryError as error:
            return Step(statement, " ".join(error.reason.split()))
        return Step(statement, None)

    def _registered(self) -> str:
        """What the metastore knows of both databases."""
        return "".join(
            str(row[0])
            for database in (DATABASE, OTHER)
            for row in self._session.run(self._raw("known", database, "", ""))
        )

    def _forget(self) -> None:
        """Remove all registrations, and the directories before, so that nothing can be refused."""
        shutil.rmtree(self._root, ignore_errors=True)
        for database in (DATABASE, OTHER):
            self._step(f"DROP DATABASE IF EXISTS {database} CASCADE")
        self._step("USE default")


def _values(partition: str) -> str:
    key, _, value = partition.partition("=")
    return f"{key}='{value}'"


def _properties(properties: Mapping[str, str]) -> str:
    inner = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    return f" TBLPROPERTIES ({inner})" if inner else ""


def _shown(steps: list[Step]) -> str:
    return "\n".join(map(str, steps))
