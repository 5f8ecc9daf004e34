"""A root on HDFS that nothing here can read stops the start, with a remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devtools.hdfs.servers import write_settings
from pyhudi_expr.service.running.reloading import check_file_systems
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.tables.storage.hadoop import configuration

_ROOT = "hdfs://lake/warehouse"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--check",)])
def test_no_library_and_no_mapping(options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--port", "0", "--root", _ROOT]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"pyhudi: table_roots: {_ROOT}: hdfs:// needs Hadoop's native library")
    assert "PYHUDI_HDFS_VIA=webhdfs" in line


def test_no_address_of_the_name_service(tmp_path: Path) -> None:
    write_settings(tmp_path / "hdfs-site.xml", {"dfs.nameservices": "other"})
    settings = ServiceSettings(
        table_roots=("/local", _ROOT), hdfs_via="webhdfs", hadoop_conf_dir=str(tmp_path)
    )
    with pytest.raises(SettingsError, match=r"table_roots: hdfs://lake/.*dfs\.ha\.namenodes\.lake"):
        check_file_systems(settings)


def test_what_can_be_read_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without a root on HDFS the library is not looked for."""
    write_settings(
        tmp_path / "hdfs-site.xml",
        {"dfs.nameservices": "lake", "dfs.namenode.http-address.lake": "nowhere:9870"},
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    check_file_systems(ServiceSettings(table_roots=(_ROOT,), hdfs_via="webhdfs"))
    monkeypatch.setattr(configuration, "problem_of", lambda _: "looked for")
    check_file_systems(ServiceSettings(table_roots=("/local", "s3://lake/warehouse")))
    check_file_systems(ServiceSettings())
    with pytest.raises(SettingsError, match="looked for"):
        check_file_systems(ServiceSettings(table_roots=(_ROOT,)))
