"""An index of Hudi's metadata table answers for each file slice that its entries are right for.

Random histories of merge-on-read tables, written by Hudi alone after the index was built. After
each action all rows and all entries are read, by others than what is tested: a look-up has to keep
each slice with a row of the key or value, and a look-up of what no row has keeps those slices alone
that have a row which the index lacks, or blocks of partial updates.

TEST_LIVES=N runs N histories instead of one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create
from pyhudi_expr.index.lookups.slice_proofs import SliceProofs
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.log_files import LogFile
from pyhudi_expr.tables.mdt.store.index_records import entries, group_of, locations
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.slices.slice_files import slice_at
from tests.example_counts import SEED, examples
from tests.index.prune.changes.direct_lookups import looked_up_directly
from tests.index.prune.changes.test_long_lived_pruner import call_procedure
from tests.index.prune.changes.test_random_histories import LIVES
from tests.index.prune.changes.test_table_services import MANUAL, newest
from tests.index.prune.matching_slices import Group, groups, read, request
from tests.spark.builds.test_hudi_reads_indexes import with_options

pytestmark = pytest.mark.spark

_STEPS = 7
_ROLLED_BACK = 8
"""The first version whose writes Hudi's procedure rolls back."""
_STOPS = (
    "Writing multiple records with same key",
    "Two HoodieRecord updates to the index",
    "is earlier than the latest compaction",
)
"""What Hudi 1.2 says of writes to keys that an insert has stored twice, of keys that move with
their values, and of rollbacks of what its metadata table has compacted; it cannot go on then."""
_TEXTS = "secondary_index_texts"
_WITHOUT_VALUES = 6
"""The version of tables that have no secondary index."""
_COLUMNS, _DELETED = ["id", "o", "s", "p"], "_hoodie_is_deleted"
_PARTLY = "hoodie.spark.sql.merge.into.partial.updates"
_NO_TEXT, _NO_KEY = "s = 'nobody'", "id = 12345"
_ALONE = PruneOptions(footer_seconds=0, footer_wait=30)
_GLOBAL = {
    "hoodie.index.type": "GLOBAL_SIMPLE",
    "hoodie.simple.index.update.partition.path": "true",
}
_INDEXES: tuple[Mapping[str, str], ...] = (
    {"hoodie.index.type": "SIMPLE"},
    {"hoodie.index.type": "BLOOM"},
    {"hoodie.index.type": "RECORD_INDEX"},
    _GLOBAL,
)


def rows(
    spark: SparkSession, ids: str, text: str = "'row ' || id", order: str = "0", part: str = "0"
) -> DataFrame:
    """Rows with ids from 0 to 79; the ordering value is 100 in the beginning."""
    return spark.sql(
        f"select id, cast(100 + {order} as bigint) as o, cast({text} as string) as s, "
        f"'p' || ((id div 20 + {part}) % 4) as p, false as _hoodie_is_deleted "
        f"from range(0, 99, 1, 8) where id in ({ids})"
    )


def compaction(table: HudiTable, operation: str) -> str:
    """The procedure that compacts what has been logged, however little that is."""
    often = "hoodie.compact.inline.max.delta.commits=1"
    return f"run_compaction(op => '{operation}', path => '{table.uri}', options => '{often}')"


@dataclass
class History:
    """A table and what is done to it."""

    spark: SparkSession
    random: Random
    table: HudiTable
    columns: list[str]
    pruners: tuple[Pruner, Pruner] = field(default_factory=lambda: (Pruner(_ALONE), Pruner(_ALONE)))
    said: list[str] = field(default_factory=list)

    @staticmethod
    def drawn(spark: SparkSession, random: Random, parent: Path) -> History:
        extra = {
            **random.choice(_INDEXES),
            "hoodie.metadata.compact.max.delta.commits": random.choice(("2", "100")),
        }
        version, order = random.choice((6, 8, 9)), random.choice(("o", ""))
        return History.begun(spark, random, parent, version, order, extra)

    @staticmethod
    def begun(
        spark: SparkSession,
        random: Random,
        parent: Path,
        version: int,
        order: str,
        own: Mapping[str, str],
        has_values: bool = True,
    ) -> History:
        extra = {**MANUAL, **own}
        spec = TableSpec(
            "proofs", TableType.MOR, version, ordering=order, partitions=("p",), stats_columns=None,
            extra=extra,
        )  # fmt: skip
        columns = [*_COLUMNS, _DELETED] if has_values else _COLUMNS
        every = rows(spark, ", ".join(map(str, range(80)))).select(columns)
        table = create(every, spec, parent)
        has_texts = has_values and version != _WITHOUT_VALUES
        kind = "secondary_index(s)" if has_texts else "record_index"
        execute(spark, f"CREATE INDEX texts ON '{table.uri}' USING {kind}")
        spark.sql("DROP TABLE IF EXISTS proofs")
        spark.sql(f"CREATE TABLE proofs USING hudi LOCATION '{table.uri}'")
        one = History(spark, random, with_options(table, writer_options(table.uri)), columns)
        one.said.append(f"version {version}, ordered by {order!r}, {own}, PYHUDI_SEED={SEED}")
        return one

    @property
    def ids(self) -> str:
        return ", ".join(map(str, self.random.sample(range(80), self.random.randint(1, 5))))

    @property
    def text(self) -> str:
        new = f"'new {self.random.randrange(10**6)} $' || id"
        return self.random.choice((new, "'row 7'", "cast(null as string)", "''", "'row ' || id"))

    def write(self, operation: str, frame: DataFrame) -> None:
        options = {**self.table.spec.options(), "hoodie.datasource.write.operation": operation}
        frame = frame.select(self.columns)
        frame.write.format("hudi").options(**options).mode("append").save(self.table.uri)

    def upsert(self) -> None:
        order = self.random.choice(("0", "1", "-1", "id % 3 - 1", str(len(self.said))))
        self.write("upsert", rows(self.spark, self.ids, self.text, order))

    def move(self) -> None:
        self.write("upsert", rows(self.spark, self.ids, self.text, "50", "1"))

    def delete(self) -> None:
        self.write("delete", rows(self.spark, self.ids))

    def delete_softly(self) -> None:
        order = self.random.choice(("0", "1", "-1", "60"))
        frame = rows(self.spark, self.ids, self.text, order)
        self.write("upsert", frame.selectExpr("id", "o", "s", "p", "true as _hoodie_is_deleted"))

    def merge_partly(self) -> None:
        """Log rows that have some of their columns only; an ordering value is one of them.

        Hudi 1.2 fails at it in tables with a secondary index, and does not read what it has written
        in tables with a column `_hoodie_is_deleted`.
        """
        order = self.random.choice(("1", "-50", str(len(self.said))))
        rows(self.spark, self.ids, self.text, order).createOrReplaceTempView("merged")
        ours = ("hoodie.datasource.", "hoodie.table.")
        options = {
            name: value
            for name, value in self.table.spec.options().items()
            if name.startswith("hoodie.") and not name.startswith(ours)
        }
        with session_settings(self.spark, {**options, _PARTLY: "true"}):
            self.spark.sql(
                "MERGE INTO proofs AS old USING merged AS new ON old.id = new.id "
                "WHEN MATCHED THEN UPDATE SET o = new.o, s = new.s"
            )

    def insert(self) -> None:
        operation = self.random.choice(("insert", "bulk_insert"))
        ids = self.random.choice((self.ids, ", ".join(map(str, range(80, 99)))))
        self.write(operation, rows(self.spark, ids, self.text, "1"))

    def call(self, procedure: str) -> None:
        call_procedure(self.spark, procedure, self.table)

    def compact(self) -> None:
        self.call(compaction(self.table, "schedule"))
        if self.random.random() < 0.7:
            self.call(compaction(self.table, "run"))

    def cluster(self) -> None:
        self.call(f"run_clustering(path => '{self.table.uri}', order => 's')")

    def roll_back(self) -> None:
        self.upsert()
        instant = newest(self.table)
        self.call(f"rollback_to_instant(table => 'proofs', instant_time => '{instant}')")

    def step(self) -> bool:
        """Do something; returns whether Hudi can go on."""
        actions: list[Callable[[], None]] = [
            *([self.upsert] * 4),
            *(self.delete, self.delete, self.delete_softly, self.insert),
            *(self.compact, self.cluster, self.move),
        ]
        if self.table.spec.version >= _ROLLED_BACK:
            actions.append(self.roll_back)
        action = self.random.choice(actions)
        self.said.append(action.__name__)
        try:
            action()
        except Py4JJavaError as error:
            if any(text in str(error) for text in _STOPS):
                return False
            raise
        return True

    def opened(self) -> MetadataTable:
        """The metadata table as it is now."""
        mdt = MetadataTable.open(OpenedTable.open(self.table.uri))
        assert mdt is not None
        return mdt

    def partly_written(self, mdt: MetadataTable) -> set[Group]:
        """The groups with log blocks of partial updates: they are not read, and kept."""
        listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
        found = set()
        for number in range(listing.num_slices):
            one = slice_at(listing, number)
            for log in map(one.path, one.logs):
                with mdt.table.storage.open_input(log) as source:
                    if any(
                        block.is_partial for block in LogFile(source, source.size(), log).blocks
                    ):
                        found.add((one.partition, one.file_id))
        return found

    def check(self) -> None:
        """Asserts what the module says."""
        frame = read(self.spark, self.table.path)
        found = frame.selectExpr(
            "_hoodie_partition_path p", "split(_hoodie_file_name, '_')[0] f",
            "_hoodie_record_key k", "s",
        ).collect()  # fmt: skip
        held = [((row.p, row.f), row.k, row.s) for row in found]
        mdt = self.opened()
        keys = key_entries(mdt)
        values = value_entries(mdt) if _TEXTS in mdt.partitions else set()
        without_key = {group for group, key, _ in held if keys.get(key) != group}
        led_to = {(text, keys.get(key)) for text, key in values}
        unfound = {group for group, _, text in held if (text, group) not in led_to}
        without_text = without_key | {
            group for group, key, text in held if (text, key) not in values
        }
        unread = self.partly_written(mdt)
        by_key, by_text = defaultdict(set), defaultdict(set)
        for group, key, text in held:
            by_key[key].add(group)
            by_text[text].add(group)
        lacking = (without_key, unfound, without_text)
        with looked_up_directly():
            self._look_up(self.pruners[1], by_key, by_text, lacking, unread)
        self._look_up(self.pruners[0], by_key, by_text, lacking, unread)

    def _look_up(
        self,
        pruner: Pruner,
        by_key: Mapping[str, set[Group]],
        by_text: Mapping[str | None, set[Group]],
        lacking: tuple[set[Group], set[Group], set[Group]],
        unread: set[Group],
    ) -> None:
        without_key, unfound, without_text = lacking
        uri, kept = self.table.uri, lambda text: groups(pruner.prune(uri, request(text)))
        for key, expected in by_key.items():
            assert expected <= kept(f"id = {key}"), (self.said, key)
        no_key = pruner.prune(uri, request(_NO_KEY))
        assert without_key <= groups(no_key) <= without_key | unread, (self.said, no_key.notes)
        if _TEXTS not in OpenedTable.open(uri).properties.metadata_partitions:
            return
        for text, expected in by_text.items():
            condition = "s IS NULL" if text is None else f"s = '{text}'"
            assert expected <= kept(condition), (self.said, condition)
        no_text = pruner.prune(uri, request(_NO_TEXT))
        # A row without an entry may be found by that of another row with its value.
        assert unfound <= groups(no_text) <= without_text | unread, (self.said, no_text.notes)


def key_entries(mdt: MetadataTable) -> dict[str, Group]:
    """The file group of each key, by all entries of the record index."""
    return {
        key.decode(): group_of(place.as_py())
        for part in mdt.newest(RECORD_INDEX)
        for key, place in zip(part.cells.keys, locations(part), strict=True)
    }


def value_entries(mdt: MetadataTable) -> set[tuple[str | None, str]]:
    """All pairs of a value and a key in the secondary index."""
    found = set()
    for part in (one for records in mdt.newest(_TEXTS) for one in entries(records)):
        live = ~part.deleted
        pairs = zip(part.values.take(live).to_list(), part.keys.take(live).to_list(), strict=True)
        for value, key in pairs:
            found.add((None if value == b"\0" else value.decode(), key.decode()))
    return found


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index is used, though reading the small files would cost less."""
    monkeypatch.setattr(
        "pyhudi_expr.index.planner.LookupCost.is_worth", lambda _look_up, _left: True
    )


@pytest.mark.timeout(0)
def test_an_index_answers_for_the_slices_that_it_is_right_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(examples(LIVES)):
        one = History.drawn(spark, Random(f"{SEED} {number}"), tmp_path / str(number))
        for _ in range(_STEPS):
            if not one.step():
                break
            one.check()


def test_slices_with_partial_updates_are_kept_until_they_are_compacted(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = History.begun(spark, Random(SEED), tmp_path, 9, "o", _INDEXES[0], has_values=False)
    for action in (one.merge_partly, one.upsert, one.delete, one.merge_partly):
        action()
        one.said.append(action.__name__)
        one.check()
    assert one.partly_written(one.opened())
    for operation in ("schedule", "run"):
        one.call(compaction(one.table, operation))
    assert not one.partly_written(one.opened())
    one.check()


def test_partial_updates_fail_beside_a_secondary_index_and_do_no_harm(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = History.begun(spark, Random(SEED), tmp_path, 9, "o", _INDEXES[0])
    one.upsert()
    with pytest.raises(Py4JJavaError, match="Partial merging logic is not implemented"):
        one.merge_partly()
    one.check()


def test_the_check_sees_rows_that_an_index_lacks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hudi removes the entries of a row although its delete is older and loses."""
    one = History.begun(spark, Random(), tmp_path, 9, "o", _INDEXES[0])
    one.write("upsert", rows(spark, "3", "'new'", "50"))
    deleted = rows(spark, "3", "'new'", "-1")
    one.write("upsert", deleted.withColumn("_hoodie_is_deleted", deleted.id.isNotNull()))
    one.check()
    monkeypatch.setattr(
        SliceProofs, "found", lambda _self, _finds, _rows, _column, slices, _patience: slices
    )
    monkeypatch.setattr(one, "pruners", (Pruner(_ALONE), Pruner(_ALONE)))
    with pytest.raises(AssertionError, match=r"id = 3|'3'"):
        one.check()
