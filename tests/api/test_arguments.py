"""Arguments: texts for enumerations and times, and errors that say what is accepted."""

from __future__ import annotations

import pickle
import random
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi_expr as ph
from pyhudi_expr.api.arguments import instant_text
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView

COW = "cow_v9_txns_simple_meta"


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> ph.Table:
    return ph.table(golden[COW])


def test_a_table_is_named_by_a_text_or_a_path(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = golden[COW]
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    for name in (path, str(path), path.name, f"~/{path.name}", f"file://{path}"):
        assert ph.table(name).version == 9


def test_a_file_uri_may_be_encoded(golden: Mapping[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "100% mine #1"
    shutil.copytree(golden[COW], path)
    assert ph.table(path.as_uri()).version == 9
    literal = tmp_path / "a%20b"
    shutil.copytree(golden[COW], literal)
    assert ph.table(f"file://{literal}").version == 9


def test_the_arguments_of_audit_are_checked(table: ph.Table) -> None:
    for wrong in ("x", 1.5, True, -1):
        with pytest.raises(ph.HudiError, match="sample: expected"):
            table.audit(sample=wrong)


@pytest.mark.parametrize("view", ["snapshot", "read_optimized", "read-optimized", "SNAPSHOT"])
def test_a_view_is_named_by_a_text(table: ph.Table, view: str) -> None:
    assert table.prune(view=view).files_kept == 5
    assert table.prune(view=TableView.SNAPSHOT).files_kept == 5


@pytest.mark.parametrize(
    "dialect", [*DIALECTS, *DIALECTS.values()], ids=lambda it: getattr(it, "name", it)
)
def test_a_dialect_is_named_by_a_text(table: ph.Table, dialect: Any) -> None:
    assert table.prune("region = 'us'", dialect=dialect).files_kept == 2


def test_all_spellings_of_a_time_are_the_same_instant(table: ph.Table) -> None:
    properties = HudiTable.open(table.uri).properties
    moment = datetime(2026, 1, 31, 23, 59, 59, 5_000)
    in_oslo = moment.replace(tzinfo=timezone.utc).astimezone(ZoneInfo("Europe/Oslo"))
    for time in (
        *(moment, in_oslo, "2026-01-31 23:59:59.005", "2026-01-31T23:59:59.005Z"),
        *("2026-02-01T00:59:59.005+01:00", "20260131235959005", in_oslo.isoformat()),
    ):
        assert instant_text("as_of", time, "UTC", properties) == "20260131235959005", time
    for scalar in (pa.scalar("20260131235959005"), pa.scalar(moment), np.datetime64(moment)):
        assert instant_text("as_of", scalar, "UTC", properties) == "20260131235959005", scalar
    for day in (
        np.datetime64("2026-01-31"),
        date(2026, 1, 31),
        "2026-01-31",
        "2026-01-31 00:00",
        datetime(2026, 1, 31),
    ):
        assert instant_text("as_of", day, "UTC", properties) == "20260131000000000", day


def test_a_time_with_a_zone_is_converted_to_the_zone_of_the_timeline(table: ph.Table) -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=timezone.utc)
    raw = HudiTable.open(table.uri).properties
    local, utc = (
        type(raw).parse({**raw.raw, "hoodie.table.timeline.timezone": zone}, "t")
        for zone in ("LOCAL", "UTC")
    )
    assert instant_text("as_of", noon, "Europe/Oslo", local) == "20260701140000000"
    assert instant_text("as_of", noon, "Europe/Oslo", utc) == "20260701120000000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predicate": 5}, "expected SQL text .* a pyarrow expression .* got int"),
        ({"predicate": b"a = 1"}, "got bytes"),
        ({"predicate": {"region": "us"}}, "got dict"),
        ({"columns": "txn_id"}, "columns: expected a list of column names, got str"),
        ({"columns": [1]}, "columns: expected a list of column names, got int in it"),
        ({"columns": 7}, "columns: expected a list of column names, got int"),
        ({"as_of": 20260131}, "as_of: expected text, a datetime.date or a datetime.datetime"),
        ({"as_of": 1.5}, "got float"),
        ({"limit": "10"}, "limit: expected an int or None, got str"),
        ({"limit": 1.0}, "limit: expected an int or None, got float"),
        ({"limit": True}, "limit: expected an int or None, got bool"),
        ({"view": 1}, "view: expected 'snapshot' or 'read_optimized', got int"),
        ({"dialect": None}, "dialect: expected 'hive' or 'spark' or .* got NoneType"),
        ({"zone": 2}, "zone: expected the name of an IANA time zone .* got int"),
    ],
)
def test_a_wrong_type_is_a_type_error_that_says_what_is_accepted(
    table: ph.Table, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message) as found:
        table.scan(**arguments)
    assert isinstance(found.value, ph.HudiError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": []}, "the list is empty"),
        ({"columns": ["regoin"]}, "regoin; is it region?"),
        ({"predicate": "regoin = 'us'"}, "regoin; is it region?"),
        ({"predicate": pc.field("regoin") == "us"}, "regoin; is it region?"),
        ({"predicate": [("regoin", "=", "us")]}, "regoin; is it region?"),
        ({"predicate": "region = "}, "line 1, column 8: an operand is missing"),
        ({"predicate": []}, "the filter list is empty"),
        ({"predicate": [("region", "~", "us")]}, "the operator '~' is none of"),
        ({"as_of": "yesterday"}, "'yesterday' is not an instant: write '2026-01-31'"),
        ({"as_of": "2026-02-31"}, "is not an instant"),
        ({"as_of": ""}, "is not an instant"),
        ({"as_of": pa.scalar(None, pa.string())}, "expected an instant, got NULL"),
        ({"as_of": np.datetime64("NaT")}, "expected an instant, got NULL"),
        ({"as_of": pd.NaT}, "expected an instant, got NULL"),
        ({"limit": -1}, "limit: expected a number of rows, got -1"),
        ({"view": "snapshots"}, "got 'snapshots'; is it 'snapshot'?"),
        ({"dialect": "sparc"}, "got 'sparc'; is it 'spark'?"),
        ({"zone": "Oslo"}, "'Oslo' is not an IANA time zone"),
        ({"zone": "../../etc/passwd"}, "is not an IANA time zone"),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_is_accepted(
    table: ph.Table, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ph.HudiError) as found:
        table.scan(**arguments)
    assert message in str(found.value)


def test_a_reader_is_named_by_a_text(table: ph.Table) -> None:
    for reader in ("hive", "Spark", "files", None):
        assert table.prune("region = 'us'", reader=reader).files_kept == 2
    with pytest.raises(ph.HudiError, match=r"reader: expected .* or 'files', .* is it 'files'\?"):
        table.explain("region = 'us'", reader="file")


def test_prune_and_explain_refuse_what_scan_refuses(table: ph.Table) -> None:
    for method in (table.prune, table.explain, table.to_pyarrow_dataset):
        with pytest.raises(ph.UnknownColumn, match="is it region"):
            method("regoin = 'us'")
        with pytest.raises(TypeError, match="expected SQL text"):
            method(5)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((b"/t",), TypeError, "path: expected a str or a path-like object, got bytes"),
        ((None,), TypeError, "path: expected a str or a path-like object, got NoneType"),
        (("",), ValueError, "got an empty text"),
        ((Path("s3://lake/trips"),), ValueError, "give it as a str"),
        (("/no/such/table",), ph.TableNotFound, "/no/such/table: no Hudi table here"),
        (("nfs4://host/t",), ph.HudiError, "cannot be used"),
        (("s3://",), ph.HudiError, "name the bucket"),
    ],
)
def test_a_table_that_cannot_be_opened_says_why(
    arguments: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(ph.HudiError, match=message) as found:
        ph.table(*arguments)
    assert isinstance(found.value, kind)


def test_a_table_is_not_made_by_its_class() -> None:
    for arguments in (("trips",), ("trips", {"key": "secret"})):
        with pytest.raises(TypeError, match=r"opened by pyhudi_expr\.table\('trips'\)"):
            ph.Table(*arguments)


@pytest.mark.parametrize("options", ["key=secret", ["secret"], {1: "secret"}, {"key": ["secret"]}])
def test_wrong_storage_options_are_not_shown(golden: Mapping[str, Path], options: Any) -> None:
    with pytest.raises(TypeError) as found:
        ph.table(golden[COW], storage_options=options)
    assert "secret" not in str(found.value)


_ODD: list[Any] = [
    *(None, 0, -1, 1.5, float("nan"), True, "", "x", "\0", "2024-01-01", b"x", [], [[]], [()]),
    *({}, set(), object(), date(1, 1, 1), datetime.max, timedelta(1), pc.field("region")),
    *(pc.scalar(1), [("region", "=", object())], [("region", "in", 5)], ["region"], (1, 2, 3)),
    *("region = 'us'", "'", "((", "region IN ()", "SELECT 1", "1" * 400, int, lambda: 1),
]


def test_random_arguments_raise_nothing_but_hudi_errors(table: ph.Table) -> None:
    chance = random.Random(27)
    methods: list[Callable[..., Any]] = [table.prune, table.scan, table.to_pyarrow_dataset]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.PyHudiWarning)
        for _ in range(400):
            method = chance.choice(methods)
            names = ["predicate", "as_of", "view", "dialect", "zone"]
            if method == table.scan:
                names += ["columns", "limit"]
            if method == table.prune:
                names.append("reader")
            given = {name: chance.choice(_ODD) for name in chance.sample(names, 2)}
            with suppress(ph.HudiError):
                method(**given)


def test_a_syntax_error_survives_a_pickle(trips: Path) -> None:
    with pytest.raises(ph.PredicateSyntaxError) as raised:
        ph.table(trips).scan("fare >")
    copy = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own
    assert (str(copy), copy.marked) == (str(raised.value), raised.value.marked)


def test_digits_of_a_day_are_its_beginning_as_its_date_is(trips: Path) -> None:
    table = ph.table(trips)
    rows = {table.scan(as_of=text).count() for text in ("2024-01-11", "20240111", "202401110000")}
    assert rows == {table.scan().count()}


def test_a_progress_that_is_no_function_is_refused(trips: Path) -> None:
    with pytest.raises(ph.InvalidType, match="progress: expected a function or None, got"):
        ph.table(trips).scan(progress=5)
