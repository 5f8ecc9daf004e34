"""Which locations `table_roots` allows."""

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    MetadataRequest,
    PruneRequest,
    TableView,
)
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
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


@pytest.fixture
def lake(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A root with a table that may be read, beside a table outside of it."""
    for place in ("secret", "lake/mine"):
        shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / place)
    return tmp_path / "lake"


def shows_values(lake: Path, *, by_footers: bool) -> tuple[bool, str]:
    """Return whether a service with this root shows values of the table, and what it says."""
    settings = ServiceSettings(table_roots=[str(lake)], footers=by_footers)
    pruner = Pruner(PruneOptions(footers=by_footers), settings.table_options)
    handler = PruningHandler(pruner, settings)
    everything = encode(parse_predicate("amount > 0"))
    about = {
        "protocolVersion": PROTOCOL_VERSION,
        "requestId": "1",
        "basePath": f"{lake}/mine",
        "filter": everything,
        "semantics": encode_semantics(here("UTC")),
    }
    question = PruneRequest(**about, view=TableView.SNAPSHOT, describeColumns=True)
    answer = handler.prune(question)
    view = handler.metadata(MetadataRequest(**about, view="column_ranges"))
    bounds = any(column.least is not None for column in answer.columns or ())
    return bounds or bool(view.rowsSent), f"{answer.message} {view.message}"


@pytest.mark.parametrize("by_footers", [True, False])
def test_values_of_a_table_below_a_root_are_shown(lake: Path, *, by_footers: bool) -> None:
    if by_footers:
        shutil.rmtree(lake / "mine/.hoodie/metadata")
    assert shows_values(lake, by_footers=by_footers)[0]


@pytest.mark.parametrize(
    ("linked", "by_footers"),
    [
        *[(part, by) for part in (".", ".hoodie", ".hoodie/timeline") for by in (True, False)],
        (".hoodie/hoodie.properties", False),
        (".hoodie/metadata", False),
        (".hoodie/metadata/column_stats", False),
        ("region=us", True),
    ],
)
def test_no_link_inside_of_a_table_leads_to_values_outside_of_the_roots(
    lake: Path, linked: str, *, by_footers: bool
) -> None:
    mine, outside = lake / "mine", lake.parent / "secret"
    if by_footers:
        for table in (mine, outside):
            shutil.rmtree(table / ".hoodie/metadata")
    if not by_footers:
        for base_file in mine.glob("region=*/*.parquet"):
            base_file.unlink()  # Its own footers would be shown.
    place = mine / linked
    (place.unlink if place.is_file() else partial(shutil.rmtree, place))()
    place.symlink_to(outside / linked)
    shown, said = shows_values(lake, by_footers=by_footers)
    assert not shown
    assert "link" in said or "table_roots" in said
