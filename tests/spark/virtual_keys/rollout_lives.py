"""Lives of a table with and without stored keys: random steps, and what holds after each.

A model in memory has the rows; Hudi's Spark reader and its next writes are the witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from pyspark.sql import SparkSession

from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.invariants import Extent, extent, stored_keys
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.virtual_keys.rewriting import restore, rewrite
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, service_options
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.locks import TableLock
from tests.spark.virtual_keys.slice_keys import keys_of_rows
from tests.spark.virtual_keys.virtual_tables import (
    QUICK,
    Rows,
    frame,
    keys_that_hudi_reads,
    some,
    stored,
)

_KEYS = 14
"""Keys that rows are drawn from, so that writes meet."""


@dataclass(frozen=True)
class Kind:
    """A kind of tables."""

    version: str
    is_mor: bool

    def __str__(self) -> str:
        return f"{'merge on read' if self.is_mor else 'copy on write'}, version {self.version}"


KINDS = tuple(Kind(version, is_mor) for version in ("6", "8", "9") for is_mor in (False, True))


@dataclass
class Life:
    """A table, its rows, and the steps so far."""

    spark: SparkSession
    path: str
    kind: Kind
    random: Random
    rows: Rows = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Create the table, with stored keys."""
        self._write(some(0, 8, 1), "bulk_insert")

    def run(self, steps: int) -> None:
        """Take random steps; the first ones leave rows of both kinds in a file."""
        self._take("enable")
        self._take("upsert")
        for _ in range(steps):
            self._take(self.random.choice([name for name in STEPS if self._may(name)]))
        self.end()

    def end(self) -> None:
        """Store the keys, then let Hudi do all that it does."""
        if self.is_virtual:
            self._take("disable")
        for name in ("upsert", "delete", "cluster", *(["compact"] if self.kind.is_mor else [])):
            self._take(name)

    @property
    def _newest(self) -> int:
        """A value that decides for its row, as the ordering column and as the last one written."""
        return 1 + len(self.steps)

    @property
    def is_virtual(self) -> bool:
        return is_virtual(HudiTable.open(self.path).properties)

    def check(self) -> None:
        """What holds after each step."""
        table = HudiTable.open(self.path)
        assert stored(self.spark, self.path) == self.rows
        assert keys_of_rows(self.path) == sorted(self.rows)
        if not self.is_virtual:
            assert keys_that_hudi_reads(self.spark, self.path) == set(self.rows)
            assert extent(stored_keys(table, table.listing())) is Extent.ALL
        found = audit(table, AuditOptions()).findings
        assert not [one for one in found if one.fault is Fault.STORED_KEY_MISSING]

    def upsert(self) -> None:
        first = self.random.randrange(_KEYS - 3)
        self._write(some(first, first + 3, self._newest), "upsert")

    def insert(self) -> None:
        every = some(0, _KEYS, self._newest)
        absent = {k: row for k, row in every.items() if k not in self.rows}
        self._write(dict(list(absent.items())[:2]), "insert")

    def delete(self) -> None:
        chosen = self.random.sample(sorted(self.rows), min(2, len(self.rows)))
        self._write({k: (self._newest, self.rows[k][1]) for k in chosen}, "delete")

    def enable(self) -> None:
        table = HudiTable.open(self.path)
        enable(table, VirtualKeySettings(), TableLock(table.storage))

    def rewrite(self) -> None:
        partitions = self.random.choice([None, ["p0"], ["p1"]])
        rewrite(self.spark, self.path, partitions, self.random.choice([1, 1 << 30]), _silent)

    def disable(self) -> None:
        restore(self.spark, self.path)

    def compact(self) -> None:
        often = {"hoodie.compact.inline.max.delta.commits": "1"}
        self._call("run_compaction", "op => 'scheduleAndExecute'", often)

    def cluster(self) -> None:
        self._call("run_clustering", "op => 'scheduleAndExecute'", {})

    def _may(self, name: str) -> bool:
        match name:
            case "enable":
                return not self.is_virtual
            case "rewrite" | "disable":
                return self.is_virtual
            case "compact":
                return self.kind.is_mor
            case "insert":
                return len(self.rows) < _KEYS
        return len(self.rows) > 3 or name != "delete"

    def _take(self, name: str) -> None:
        self.steps.append(name)
        STEPS[name](self)
        self.check()

    def _write(self, rows: Rows, operation: str) -> None:
        spec = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read=self.kind.is_mor)
        exists = operation != "bulk_insert"
        options = {
            **spec.writer_options(),
            **QUICK,
            hudi_names.POPULATE_META_FIELDS: str(not (exists and self.is_virtual)).lower(),
            "hoodie.write.table.version": self.kind.version,
            "hoodie.write.auto.upgrade": "false",
            "hoodie.datasource.write.operation": operation,
        }
        writer = frame(self.spark, rows).write.format("hudi").options(**options)
        writer.mode("append").save(self.path)
        if operation == "delete":
            self.rows = {k: row for k, row in self.rows.items() if k not in rows}
        else:
            self.rows = {**self.rows, **rows}

    def _call(self, procedure: str, arguments: str, more: Mapping[str, str]) -> None:
        options = {**service_options(self.path), **QUICK, **more}
        text = ",".join(f"{key}={value}" for key, value in options.items())
        call = f"CALL {procedure}(path => '{self.path}', {arguments}, options => '{text}')"
        self.spark.sql(call).collect()


def _silent(_done: int, _of: int) -> None:
    """Show nothing."""


STEPS: Mapping[str, Callable[[Life], None]] = {
    "upsert": Life.upsert,
    "insert": Life.insert,
    "delete": Life.delete,
    "enable": Life.enable,
    "rewrite": Life.rewrite,
    "disable": Life.disable,
    "compact": Life.compact,
    "cluster": Life.cluster,
}
