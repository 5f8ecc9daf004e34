"""A table: what it is, its files, history and indexes, at an instant, and as it changes."""

from __future__ import annotations

import pickle
import shutil
import warnings
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi_expr as ph
from pyhudi_expr.tables.hudi_table import HudiTable

COW, MOR = "cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"
WITH_LOGS = "mor_v6_simplekeygen_nonhivestyle"


@pytest.mark.parametrize("name", [COW, MOR, "cow_v8_complexkeygen_hivestyle", WITH_LOGS])
def test_a_table_says_what_it_is(golden: Mapping[str, Path], name: str) -> None:
    table, inner = ph.table(golden[name]), HudiTable.open(str(golden[name]))
    assert (table.version, table.name) == (inner.properties.version, inner.properties.name)
    assert table.properties["hoodie.table.name"] == table.name
    assert table.table_type in ("COPY_ON_WRITE", "MERGE_ON_READ")
    assert table.schema == inner.schema()
    assert table.schema.names[0] == "_hoodie_commit_time"
    assert table.instant == inner.instant
    assert (table.uri, str(golden[name])) == (str(golden[name]), table.uri)


@pytest.mark.parametrize("name", [COW, WITH_LOGS])
@pytest.mark.parametrize("view", ["snapshot", "read_optimized"])
def test_files_are_those_on_the_disk(golden: Mapping[str, Path], name: str, view: str) -> None:
    path = golden[name]
    found = ph.table(path).files(view=view)
    assert found.schema.names == ["path", "partition", "kind", "bytes", "file_id", "instant"]
    assert found.num_rows
    for row in found.to_pylist():
        assert (path / row["path"]).stat().st_size == row["bytes"]
        assert row["path"].startswith(row["partition"])
        assert row["file_id"] in row["path"]
        assert (row["kind"] == "base") == row["path"].endswith(".parquet")
    assert (view == "snapshot" and name == WITH_LOGS) == ("log" in found["kind"].to_pylist())


def test_history_is_the_timeline(golden: Mapping[str, Path]) -> None:
    found = ph.table(golden[COW]).history()
    instants = HudiTable.open(str(golden[COW])).timeline.instants
    assert found["instant"].to_pylist() == [one.requested for one in instants]
    assert set(found["state"].to_pylist()) == {"completed"}
    first = found.to_pylist()[0]
    assert f"{first['requested_at']:%Y%m%d%H%M%S}" == first["instant"][:14]
    assert first["completed_at"] >= first["requested_at"]


def test_indexes_are_listed_with_state_and_size(golden: Mapping[str, Path]) -> None:
    found = ph.table(golden[COW]).indexes()
    by_name = {row["name"]: row for row in found.to_pylist()}
    stats = by_name["column_stats"]
    assert (stats["state"], stats["bytes"] > 0, stats["note"]) == ("active", True, "")
    assert stats["covers"] == ph.table(golden[COW]).instant
    none = ph.table(golden["cow_v9_txns_nonpart_nometa"]).indexes()
    assert (none.num_rows, none.schema) == (0, found.schema)


def test_every_kind_of_predicate_gives_the_same_plan(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden[COW])
    plans = [
        table.prune(one)
        for one in ("region = 'us'", pc.field("region") == "us", [("region", "=", "us")])
    ]
    assert {tuple(plan.kept_paths()) for plan in plans} == {tuple(plans[0].kept_paths())}
    plan = plans[0]
    assert (plan.files_kept, plan.files_total, plan.files_skipped) == (2, 5, 3)
    assert 0 < plan.bytes_kept < plan.bytes_total
    assert (plan.partitions_kept, plan.partitions_total) == (1, 3)
    assert sum(plan.skipped_by.values()) == 3
    assert all(Path(uri).is_file() for uri in plan.kept_uris())
    kept = plan.files().filter(pc.field("kept"))
    assert kept["path"].to_pylist() == plan.kept_paths()
    assert plan.notes == plan.result.notes
    everything = table.prune()
    assert everything.files_kept == everything.files_total


def test_an_explanation_has_the_parts_of_the_predicate(golden: Mapping[str, Path]) -> None:
    found = ph.table(golden[COW]).explain("region = 'us' AND amount > 50")
    assert [part["excluded"] >= 0 for part in found.to_dict()["children"]] == [True, True]
    assert found.plan.files_kept == 2
    assert "read 2 of 5" in found.to_text()
    assert "region" in found.to_text()


def instants(path: Path) -> list[str]:
    return [one.requested for one in HudiTable.open(str(path)).timeline.writes]


@pytest.mark.parametrize("name", [COW, MOR])
def test_the_table_at_each_instant_has_its_rows(golden: Mapping[str, Path], name: str) -> None:
    table = ph.table(golden[name])
    every = instants(golden[name])
    counts = [table.scan(as_of=one).count() for one in every]
    assert counts[-1] == table.scan().count()
    assert counts[0] < counts[-1]
    for one in every:
        rows = table.scan(as_of=one, meta=True).to_arrow()
        assert max(rows["_hoodie_commit_time"].to_pylist()) <= one
        assert table.files(as_of=one).num_rows == table.prune(as_of=one).files_total


@pytest.mark.parametrize("name", [COW, MOR])
def test_files_since_an_instant_hold_all_rows_written_after_it(
    golden: Mapping[str, Path], name: str
) -> None:
    table = ph.table(golden[name])
    rows = table.scan(meta=True).to_arrow()
    for one in instants(golden[name]):
        newer = rows.filter(pc.field("_hoodie_commit_time") > one)
        kept = {Path(path).name for path in table.prune(since=one).kept_paths()}
        assert set(newer["_hoodie_file_name"].to_pylist()) <= kept
        explained = table.explain("amount > 0", since=one).plan
        assert explained.files_kept <= len(kept)
    assert not kept


#: Only its commits have a schema: `hoodie.properties` has none.
WITHOUT_CREATE_SCHEMA = "mor_v8_metadata_pending_compaction"


@pytest.mark.parametrize(
    "name", [COW, WITH_LOGS, WITHOUT_CREATE_SCHEMA, "cow_v9_txns_nonpart_nometa"]
)
def test_an_instant_before_the_first_commit_is_an_error(
    golden: Mapping[str, Path], name: str
) -> None:
    table, first = ph.table(golden[name]), instants(golden[name])[0]
    day_before = datetime.strptime(first[:8], "%Y%m%d").date() - timedelta(1)
    for as_of in (day_before, f"{day_before}", str(int(first) - 1), datetime(1970, 1, 1)):
        for method in (table.prune, table.scan, table.explain, table.to_pyarrow_dataset):
            with pytest.raises(ph.BeforeFirstCommit, match=f"first commit.* {first}"):
                method(None, as_of=as_of)
        for of_table in (table.schema_at, lambda time: table.files(as_of=time)):
            with pytest.raises(ph.BeforeFirstCommit, match="before the table's first commit"):
                of_table(as_of)
    assert table.scan(as_of=first).count() > 0
    assert table.scan(as_of=date(2999, 1, 1)).count() == table.scan().count()


def test_the_schema_at_an_instant_is_that_of_its_commits(trips: Path, tmp_path: Path) -> None:
    path = tmp_path / "trips"
    shutil.copytree(trips, path)
    commit = '{"extraMetadata": {"schema": "%s"}}'
    fields = [("id", "long"), ("fare", "double")]
    for number in (1, 2):
        columns = ", ".join(
            f'{{\\"name\\": \\"{name}\\", \\"type\\": \\"{kind}\\"}}'
            for name, kind in fields[:number]
        )
        schema = f'{{\\"type\\": \\"record\\", \\"name\\": \\"t\\", \\"fields\\": [{columns}]}}'
        file = f"202402{number:02d}000000000_202402{number:02d}000001000.commit"
        (path / ".hoodie" / "timeline" / file).write_text(commit % schema)
    table = ph.table(path)
    names = [
        [name for name in table.schema_at(day).names if not name.startswith("_hoodie")]
        for day in ("2024-01-20", "2024-02-01", "2024-02-02")
    ]
    assert {"ts", "city", "day"} < set(names[0])
    assert names[1:] == [["id"], ["id", "fare"]]
    assert table.schema.names == table.schema_at("2024-03-01").names
    assert table.scan(as_of="2024-02-01").schema.names[-1] == "id"
    with pytest.raises(ph.UnknownColumn, match=r"column (named )?city"):
        table.prune("city = 'Oslo'", as_of="2024-02-01")


def test_a_table_sees_new_commits(golden: Mapping[str, Path], tmp_path: Path) -> None:
    source, path = golden[COW], tmp_path / "t"
    shutil.copytree(source, path)
    last = instants(path)[-1]
    (hidden,) = (path / ".hoodie" / "timeline").glob(f"{last}_*.*commit")
    content = hidden.read_bytes()
    hidden.unlink()
    table = ph.table(path)
    scan = table.scan()
    before = (table.instant, scan.count(), table.history().num_rows)
    hidden.write_bytes(content)
    after = (table.instant, table.scan().count(), table.history().num_rows)
    assert (before[0], after[0]) == (instants(source)[-2], last)
    assert before[1:] != after[1:]
    assert scan.filter("true").count() == before[1]  # of the same state


def test_a_predicate_that_is_not_judged_warns_where_it_was_asked(
    golden: Mapping[str, Path],
) -> None:
    table = ph.table(golden[COW])
    with pytest.warns(ph.PyHudiWarning, match="soundex"):
        table.prune("soundex(region) = 'x' AND region = 'us'")
    for ask in (table.prune, table.scan):
        with pytest.warns(ph.PyHudiWarning, match="files were not evaluated") as found:
            ask("txn_id LIKE '%7'")
        assert found[0].filename == __file__


def test_a_query_of_which_only_the_where_is_used_warns(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden[COW])
    with pytest.warns(ph.PyHudiWarning, match="only the WHERE is used") as found:
        rows = table.scan("SELECT DISTINCT region FROM t WHERE region = 'us' LIMIT 1")
    assert found[0].filename == __file__
    assert rows.count() == table.scan("region = 'us'").count()
    assert table.prune("SELECT * FROM t WHERE region = 'us'").files_skipped == 3


def test_files_are_evaluated_by_what_pyarrow_cannot_filter_rows_by(
    golden: Mapping[str, Path],
) -> None:
    """Decimals against an integer of more digits than pyarrow computes with."""
    table, expression = ph.table(golden[COW]), pc.field("amount") > 5
    assert table.prune(expression).kept_paths() == table.prune("amount > 5").kept_paths()
    with pytest.raises(ph.FilterNotApplicable, match=r"[Pp]recision"):
        table.scan(expression)


def test_a_part_of_an_expression_that_is_not_supported_leaves_the_others(
    golden: Mapping[str, Path],
) -> None:
    table, region = ph.table(golden[COW]), pc.field("region") == "us"
    with pytest.warns(ph.PyHudiWarning, match="utf8_length"):
        both = table.prune(region & (pc.utf8_length(pc.field("region")) == 2))
    assert both.kept_paths() == table.prune(region).kept_paths()


def test_a_predicate_that_is_judged_warns_of_nothing(
    trips: Path, golden: Mapping[str, Path]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ph.table(golden[COW]).prune("region = 'us'").files_skipped == 3
        assert ph.table(trips).prune("fare > 165").files_kept == 10
        assert ph.table(trips).prune("day = '2024-01-03'").files_kept == 8
        assert ph.table(trips).prune().files_kept == 80
        assert ph.table(trips).scan().count() == 160_000


def test_an_explanation_tells_footers_from_an_index(
    trips: Path, golden: Mapping[str, Path]
) -> None:
    assert "footers (70)" in str(ph.table(trips).explain("fare > 165"))
    evidence = ph.table(golden[COW], footers=True).prune("amount > 0").result.evidence
    assert "column_stats" in [source.name for source in evidence]
    assert "footers" not in [source.name for source in evidence]


def test_times_of_a_predicate_are_of_utc_unless_a_zone_is_given(trips: Path) -> None:
    table = ph.table(trips, footers=True)
    text = "ts >= timestamp '2024-01-05 00:00:00'"
    by_default, in_utc = table.prune(text), table.prune(text, zone="UTC")
    assert by_default.kept_paths() == in_utc.kept_paths()
    assert by_default.files_kept == 48
    assert table.scan(text).count() == table.scan(text, zone="UTC").count() == 96_000
    assert table.scan(text, zone="Asia/Tokyo").count() > 96_000


def test_results_are_one_schema_for_empty_tables_too(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden[COW])
    nothing = table.scan("region = 'us' AND region = 'eu'", ["txn_id"]).to_arrow()
    assert nothing.schema == pa.schema([table.schema.field("txn_id").remove_metadata()])
    assert nothing.num_rows == table.scan("region = 'us' AND region = 'eu'").count() == 0


def test_a_table_is_opened_anew_from_a_pickle(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden[COW], footers=True, progress=False)
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301 - our own
    assert copy.scan("amount > 100").to_arrow() == table.scan("amount > 100").to_arrow()
    assert copy._pruner.settings == table._pruner.settings


@pytest.mark.parametrize("part", ["prune", "scan"])
def test_what_was_read_of_a_table_is_not_pickled(golden: Mapping[str, Path], part: str) -> None:
    found = getattr(ph.table(golden[COW]), part)()
    with pytest.raises(TypeError, match="or the Table"):
        pickle.dumps(found)


def test_a_metadata_table_that_lags_behind_is_noted(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(golden[COW], tmp_path / "table")
    newest = ph.table(path).instant
    (last,) = path.glob(f".hoodie/metadata/.hoodie/timeline/{newest}_*.deltacommit")
    whole = ph.table(path).scan("amount > 100").count()
    last.unlink()
    table = ph.table(path)
    notes = table.prune("amount > 1e9").notes
    assert any(f"the table at {newest}: what is newer is not pruned" in one for one in notes)
    assert table.scan("amount > 100").count() == whole


def test_a_column_in_the_quotes_of_a_text_warns(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden[COW])
    with pytest.warns(ph.PyHudiWarning, match="write region or `region`"):
        assert table.prune("\"region\" = 'us'").files_kept == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.prune("`region` = 'us'").files_kept > 0
        assert table.prune("\"region\" = 'us'", dialect="trino").files_kept > 0


def test_an_explanation_of_all_rows_keeps_all_files(golden: Mapping[str, Path]) -> None:
    assert "5 of 5" in str(ph.table(golden[COW]).explain())
