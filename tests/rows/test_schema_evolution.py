"""Files from before columns were renamed, retyped, dropped or moved, read with the current one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr import scan
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.rows.file_columns import SchemaEvolution
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.schema import SchemaHistory, schema_history
from pyhudi_expr.tables.slices.slice_rows import base_batches
from pyhudi_expr.tables.storage import Storage

#: The instant of the golden tables' last write, at which two names appear to be swapped.
LAST = 20260307162456179
CHANGED = 20240102000000000
BEFORE, SINCE = "20240101000000000", "20240103000000000"
FILE = "old.parquet"


def field(id_: int, name: str, type_: object) -> dict[str, object]:
    return {"id": id_, "name": name, "type": type_, "optional": True}


def struct(*fields: dict[str, object]) -> dict[str, object]:
    return {"type": "record", "fields": [*fields]}


def array(id_: int, element: object) -> dict[str, object]:
    return {"type": "array", "element_id": id_, "element": element, "element_optional": True}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage.open(str(tmp_path))


def evolution(
    storage: Storage,
    fields_before: Sequence[dict[str, object]],
    fields_after: Sequence[dict[str, object]],
) -> SchemaEvolution:
    """The evolution of a table whose columns were changed at `CHANGED`."""
    versions = [
        {"version_id": since, **struct(*fields)}
        for since, fields in ((CHANGED, fields_after), (0, fields_before))
    ]
    storage.write(".hoodie/.schema/1.schemacommit", json.dumps({"schemas": versions}).encode())
    history = schema_history(storage, lambda instant: True)
    assert isinstance(history, SchemaHistory)
    newest = history.at(None)
    assert newest is not None
    return SchemaEvolution(history, newest)


def read(
    evolved: SchemaEvolution, storage: Storage, stored: pa.Table, schema: pa.Schema
) -> list[dict[str, Any]]:
    """The rows of a file from before the change, with the current columns."""
    with storage.writing(FILE) as sink:
        pq.write_table(stored, sink)
    columns = evolved.columns(BEFORE, FILE)
    batches = [
        columns.rows(batch, schema) for batch in base_batches(storage, FILE, columns.roots(schema))
    ]
    return pa.Table.from_batches(batches, schema).to_pylist()


def test_columns_swap_names_or_are_dropped_and_added_again(storage: Storage) -> None:
    fields_before = [field(0, "a", "int"), field(1, "b", "int"), field(2, "c", "string")]
    fields_after = [field(1, "a", "int"), field(0, "b", "int"), field(3, "c", "string")]
    evolved = evolution(storage, fields_before, fields_after)
    file = pa.table({"_hoodie_record_key": ["k"], "a": [1], "b": [2], "c": ["x"]})
    names = ["_hoodie_record_key", "c", "b", "a"]
    today = pa.schema([(n, pa.string() if n in names[:2] else pa.int64()) for n in names])
    assert read(evolved, storage, file, today) == [
        {"_hoodie_record_key": "k", "c": None, "b": 1, "a": 2}
    ]
    added = pa.schema([("c", pa.string())])  # no column of the file
    assert read(evolved, storage, file, added) == [{"c": None}]


def test_fields_of_structs(storage: Storage) -> None:
    inner = struct(field(2, "x", "int"), field(3, "y", "string"))
    renamed = struct(field(4, "z", "int"), field(3, "x", "string"))
    evolved = evolution(storage, [field(1, "st", inner)], [field(1, "other", renamed)])
    file = pa.table({"st": [{"x": 1, "y": "one"}, None, {"x": None, "y": None}]})
    type_ = pa.struct([("z", pa.int32()), ("x", pa.string())])
    assert read(evolved, storage, file, pa.schema([("other", type_)])) == [
        {"other": {"z": None, "x": "one"}},
        {"other": None},
        {"other": {"z": None, "x": None}},
    ]


WIDER = [
    (pa.array([2**60 + 1]), "long", pa.float64(), "double", [float(2**60)]),  # rounded
    (pa.array([1, None], pa.int32()), "int", pa.int64(), "long", [1, None]),
    (pa.array([7], pa.int32()), "int", pa.float64(), "double", [7.0]),
    (pa.array([7], pa.int64()), "long", pa.string(), "string", ["7"]),
    (pa.array([0.1], pa.float32()), "float", pa.float64(), "double", [0.1]),  # by its digits
    (pa.array([0], pa.date32()), "date", pa.string(), "string", ["1970-01-01"]),
]


@pytest.mark.parametrize(("values", "was", "type_", "is_", "expected"), WIDER)
def test_widened_types(
    storage: Storage, values: pa.Array, was: str, type_: pa.DataType, is_: str, expected: list[Any]
) -> None:
    evolved = evolution(storage, [field(0, "c", was)], [field(0, "c", is_)])
    rows = read(evolved, storage, pa.table({"c": values}), pa.schema([("c", type_)]))
    assert [row["c"] for row in rows] == expected


REFUSED = [
    (pa.array([1.5]), "double", pa.string(), "string", "was double and is string now"),
    (pa.array(["1970-01-01"]), "string", pa.date32(), "date", "was string and is date32"),
    (
        *(pa.array([[{"x": 1}]]), array(1, struct(field(2, "x", "int")))),
        *(pa.list_(pa.struct([("x", pa.int64())])), array(1, struct(field(3, "x", "int")))),
        "a list or map in which fields were changed",
    ),
]


@pytest.mark.parametrize(("values", "was", "type_", "is_", "message"), REFUSED)
def test_type_changes_that_engines_read_differently_are_refused(
    storage: Storage, values: pa.Array, was: object, type_: pa.DataType, is_: object, message: str
) -> None:
    evolved = evolution(storage, [field(0, "c", was)], [field(0, "c", is_)])
    with pytest.raises(UnsupportedTable, match=f"'c'.* {message}"):
        read(evolved, storage, pa.table({"c": values}), pa.schema([("c", type_)]))


def test_a_column_without_an_id_is_refused(storage: Storage) -> None:
    evolved = evolution(storage, [field(0, "c", "int")], [field(0, "c", "long")])
    with pytest.raises(HudiError, match="no column 'd'"):
        read(evolved, storage, pa.table({"d": [1]}), pa.schema([("d", pa.int64())]))


Exchange = Callable[[str, int, str, str], str]


@pytest.fixture
def exchanged(golden: Mapping[str, Path], tmp_path: Path) -> Exchange:
    """A golden table with a schema history in which two columns swap names at an instant."""

    def exchanged(name: str, since: int, one: str, other: str) -> str:
        table = tmp_path / "table"
        shutil.copytree(golden[name], table)
        columns = [c for c in HudiTable.open(str(table)).schema() if c.name not in META_COLUMNS]
        now, ids = described(columns, count()), {one: other, other: one}
        then = [{**field, "name": ids.get(str(field["name"]), field["name"])} for field in now]
        versions = [{"version_id": since, **struct(*now)}, {"version_id": 0, **struct(*then)}]
        (table / ".hoodie" / ".schema").mkdir(exist_ok=True)
        history = table / ".hoodie" / ".schema" / f"{since}.schemacommit"
        history.write_text(json.dumps({"schemas": versions}))
        return str(table)

    return exchanged


def described(columns: Iterable[pa.Field], ids: Iterator[int]) -> list[dict[str, object]]:
    """The columns as in a schema history; struct fields have ids."""
    return [
        field(
            next(ids),
            column.name,
            struct(*described(column.type, ids)) if pa.types.is_struct(column.type) else "any",
        )
        for column in columns
    ]


def test_tables_are_scanned_with_current_names(
    golden: Mapping[str, Path], exchanged: Exchange
) -> None:
    name, columns = "cow_v9_txns_simple_meta", ["_hoodie_commit_time", "txn_id", "account_id"]
    table = exchanged(name, LAST, "txn_id", "account_id")

    def expected(row: dict[str, Any]) -> tuple[str, str]:
        ids = row["txn_id"], row["account_id"]
        return ids if row["_hoodie_file_name"].endswith(f"_{LAST}.parquet") else ids[::-1]

    all_rows = scan(str(golden[name]), meta=True).to_table().to_pylist()
    expected_rows = sorted(map(expected, all_rows))
    found = scan(table, columns=columns[1:]).to_table().to_pylist()
    assert sorted((row["txn_id"], row["account_id"]) for row in found) == expected_rows
    assert any(one.startswith("ACC") for one, _ in expected_rows)
    assert any(one.startswith("TXN") for one, _ in expected_rows)

    one = scan(table, "account_id = 'TXN-007'", columns)
    assert one.result.files_kept < one.result.files_total
    assert [row["account_id"] for row in one.to_table().to_pylist()] == ["TXN-007"]
    with pytest.raises(UnsupportedTable, match="read batches"):
        one.to_dataset()


LOGGED = [
    ("mor_v6_simplekeygen_nonhivestyle", 20250121000557095, "shortField", "intField", None),
    ("mor_v9_txns_simple_meta", 20260307162609526, "txn_id", "account_id", "20260307162612542"),
]


@pytest.mark.parametrize(("name", "since", "one", "other", "as_of"), LOGGED)
def test_log_files_are_merged_with_current_names(
    golden: Mapping[str, Path],
    exchanged: Exchange,
    name: str,
    since: int,
    one: str,
    other: str,
    as_of: str | None,
) -> None:
    """hudi-rs' rows; the values in rows from before the change are swapped."""
    expected_rows = scan(str(golden[name]), as_of=as_of, meta=True).to_table().to_pylist()
    assert any("parquet" not in row["_hoodie_file_name"] for row in expected_rows)  # of a log file
    assert len({int(row["_hoodie_commit_time"]) >= since for row in expected_rows}) == 2
    for row in expected_rows:
        if int(row["_hoodie_commit_time"]) < since:
            row[one], row[other] = row[other], row[one]
    table = exchanged(name, since, one, other)
    assert sorted(map(repr, scan(table, as_of=as_of, meta=True).to_table().to_pylist())) == sorted(
        map(repr, expected_rows)
    )
    some = scan(table, f"{one} = {expected_rows[0][one]!r}", [other], as_of).to_table().to_pylist()
    assert some == [
        {other: row[other]} for row in expected_rows if row[one] == expected_rows[0][one]
    ]
    assert scan(table, view=TableView.READ_OPTIMIZED).to_table().num_rows
