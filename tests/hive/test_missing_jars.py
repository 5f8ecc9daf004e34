"""A HiveServer2 that lacks a jar: which one is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.hiveserver import HiveServer
from devtools.runtime import aux_jars
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive.session import QueryError, jar_to_add

_FAILED = "FAILED: Execution Error, return code 40000 from org.apache.hadoop.hive.ql.ddl.DDLTask. "


@pytest.mark.parametrize(
    ("error", "jar"),
    [
        (f"{_FAILED}com/esotericsoftware/kryo/KryoSerializable", "kryo-shaded-4.0.2.jar"),
        ("java.lang.ClassNotFoundException: com.esotericsoftware.kryo.Kryo", "kryo-shaded"),
        (f"{_FAILED}org/apache/hudi/common/table/HoodieTableMetaClient", "a Hudi bundle"),
        ("NoClassDefFoundError: org/apache/hudi/avro/HoodieAvroUtils", "a Hudi bundle"),
        ("Cannot find class 'io.pyhudi.hive.HudiStorageHandler'", "the storage handler's jar"),
    ],
)
def test_the_jar_of_a_missing_class_is_named(error: str, jar: str) -> None:
    assert jar in jar_to_add(error)
    assert str(QueryError(error)).startswith(f"{error}; put ")


@pytest.mark.parametrize(
    "error",
    [
        "Table not found trips",
        "no such directory: /warehouse/org/apache/hudi/trips",
        "org.apache.hudi.exception.HoodieIOException: the timeline cannot be read",
        f"{_FAILED}com/example/Other",
    ],
)
def test_other_errors_name_no_jar(error: str) -> None:
    assert jar_to_add(error) == ""
    assert str(QueryError(error)) == error


@pytest.mark.hive
@pytest.mark.long
def test_without_kryo_and_with_settings_of_an_administrator_the_commands_say_so(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(golden["cow_v9_txns_simple_meta"])
    jars = [jar for jar in aux_jars() if "kryo" not in jar.name]
    locked = {"hudi.pruning.session.settings": "hudi.pruning.enabled"}
    ignored = ("--set", "hudi.pruning.service.addresses=127.0.0.1:1")
    with HiveServer(tmp_path / "hive", jars=jars, settings=locked) as server:
        hs2 = ("--hs2", f"127.0.0.1:{server.port}", "--auth", "NOSASL")
        assert main(["hive", "register", path, *hs2]) == 1
        assert "put kryo-shaded-4.0.2.jar" in capsys.readouterr().err
        assert main(["hive", "doctor", path, "--json", *hs2, *ignored]) == 1
        found = {one["link"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["handler"]["verdict"] == "failed"
    assert found["handler"]["remedy"].startswith("put kryo-shaded-4.0.2.jar")
    assert found["settings"]["verdict"] == "warning"
    assert "SET hudi.pruning.service.addresses is ignored" in found["settings"]["remedy"]
    assert not any("hive register" in one["remedy"] for one in found.values())
