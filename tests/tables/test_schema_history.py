"""The history of a table's schemas: the name of a column at an instant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.schema import HistoricField, SchemaHistory, schema_history
from pyhudi_expr.tables.storage import Storage


def write(root: Path, name: str, *versions: tuple[int, list[tuple[int, str, object]]]) -> None:
    schemas = [
        {
            "version_id": since,
            "type": "record",
            "fields": [{"id": i, "name": n, "type": t, "optional": True} for i, n, t in fields],
        }
        for since, fields in versions
    ]
    directory = root / ".hoodie" / ".schema"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.schemacommit").write_text(json.dumps({"schemas": schemas}))


def history_of(root: Path, failed: str = "") -> SchemaHistory | None:
    return schema_history(Storage.open(str(root)), lambda instant: instant != failed)


def test_a_file_has_the_names_of_its_instant(tmp_path: Path) -> None:
    struct = {"type": "record", "fields": [{"id": 3, "name": "u", "type": "int"}]}
    list_ = {"type": "array", "element_id": 6, "element": "int"}
    first = (0, [(0, "id", "long"), (1, "a", "int"), (2, "st", struct), (5, "li", list_)])
    last = (20200101000000000, [(1, "b", "long"), (0, "id", "long"), (4, "a", "string")])
    write(tmp_path, "20190101000000000", first)
    write(tmp_path, "20200101000000000", last, first)  # the newest file has all of them
    history = history_of(tmp_path)
    assert history is not None
    then, now = history.at("20191231235959999"), history.at("20200101000000000")
    assert then is not None
    assert now is not None
    assert now == history.at(None) == history.at("20300101000000000")
    assert now.id_of("b") == 1
    assert then.fields[1] == HistoricField("a", "int")
    assert then.fields[2] == HistoricField("st", "record")
    assert then.fields[3] == HistoricField("st.u", "int")
    assert then.fields[5].name == "li"
    assert json.loads(then.fields[5].type) == list_
    assert json.loads(now.json)["version_id"] == now.since
    assert now.id_of("a") == 4  # not the earlier column of that name
    assert 4 not in then.fields
    assert history.at("no instant") is None
    without = history_of(tmp_path, failed="20200101000000000")
    assert without is not None
    assert without.at(None) == then


def test_the_history_is_optional(tmp_path: Path) -> None:
    assert history_of(tmp_path) is None


@pytest.mark.parametrize("content", ["", "[]", '{"schemas": [{}]}', '{"schemas": [1]}'])
def test_a_damaged_history_is_named(tmp_path: Path, content: str) -> None:
    write(tmp_path, "1")
    (tmp_path / ".hoodie" / ".schema" / "1.schemacommit").write_text(content)
    with pytest.raises(CorruptFile, match=r"1\.schemacommit"):
        history_of(tmp_path)
