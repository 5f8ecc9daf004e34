"""Which locations `table_roots` allows."""

from pathlib import Path

import pytest

from pyhudi_expr.service.table_roots import RootError, TableRoots

ROOTS = TableRoots(["/data/lake", "s3://bucket/lake/", "hdfs://nn:8020/lake"])


@pytest.mark.parametrize(
    "location",
    [
        "/data/lake",
        "/data/lake/t",
        "/data//lake/./t/",
        "file:/data/lake/t",
        "file:///data/lake/t",
        "s3://bucket/lake/t",
        "s3a://bucket/lake//t",
        "hdfs://nn:8020/lake/a/../t",
    ],
)
def test_locations_below_a_root_are_allowed(location):
    assert ROOTS.resolve(location)


@pytest.mark.parametrize(
    "location",
    [
        "/data",
        "/data/lakes/t",
        "/data/lake/../other",
        "data/lake/t",
        "",
        "/data/lake\0/t",
        "s3://other/lake/t",
        "s3://bucket/lake/../t",
        "s3://bucket/lake/%2e%2e/t",
        "s3://bucket/lake/t?endpoint_override=elsewhere",
        "hdfs://other:8020/lake/t",
        "hdfs:/lake/t",
        "gs://bucket/lake",
    ],
)
def test_locations_outside_the_roots_are_refused(location):
    with pytest.raises(RootError):
        ROOTS.resolve(location)


def test_without_roots_every_absolute_location_is_allowed():
    anywhere = TableRoots()
    assert anywhere.resolve("file:///data/t") == "/data/t"
    assert anywhere.resolve("/data//./t/") == "/data/t"
    assert anywhere.resolve("s3://bucket/a?region=eu") == "s3://bucket/a?region=eu"
    with pytest.raises(RootError):
        anywhere.resolve("data/t")


def test_without_roots_a_path_means_what_it_means_to_the_file_system(tmp_path: Path):
    (tmp_path / "a" / "t").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "link").symlink_to(tmp_path / "a" / "t")
    assert TableRoots().resolve(f"{tmp_path}/b/link/../t") == f"{tmp_path}/a/t"
    assert TableRoots().resolve(f"{tmp_path}/b/link") == f"{tmp_path}/b/link"
