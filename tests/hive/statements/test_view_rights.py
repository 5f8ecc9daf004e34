"""Metadata views show a table's values only to those who may read the table itself.

By the rights of its files, where HiveServer2 asks storage as the user (doAs), and by grants, where
it asks storage as itself.
"""

from __future__ import annotations

import getpass
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import HIVE_LIB, aux_jars
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.metastore_table import INPUT_FORMATS
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.session_jars import compiled_jar
from tests.hive.statements.test_authorization import AUTHORISED
from tests.hive.statements.test_storage_authorization import BY_STORAGE

pytestmark = [
    pytest.mark.hive,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to another user's group"),
]

OWNER, READER, STRANGER = getpass.getuser(), "daemon", "stranger"
VIEWS = ("files", "history", "indexes", "column_ranges")
GROUP = "daemon"
"""By the operating system READER is in it, and STRANGER, whom it does not know, is not."""
LIMITED = "reader"
"""Whom the authoriser of `_MASKS` shows masked columns."""
_MASKS = Path(__file__).parents[1] / "planned" / "RowFilters.java"
MASKED: Mapping[str, str] = {
    "hive.security.authorization.enabled": "true",
    "hive.security.authorization.manager": _MASKS.stem,
    "hive.security.authenticator.manager": AUTHORISED["hive.security.authenticator.manager"],
    "column.mask.t.amount": "CAST(0 AS double)",
}


@dataclass(frozen=True)
class Lake:
    """A server with the table lake.t and its views, which OWNER has made."""

    server: HiveServer
    service: ServiceProcess
    path: Path

    def rows(self, user: str, *statements: str, engine: str = "fetch") -> list[tuple[object, ...]]:
        """The rows of the last statement."""
        settings = {
            "hudi.pruning.service.addresses": self.service.address,
            "hudi.pruning.timeout.ms": "30000",
            **ENGINES[engine],
        }
        rows: list[tuple[object, ...]] = []
        with self.server.session(settings, user) as session:
            for statement in statements:
                rows = session.run(statement)
        return rows

    def refusal(self, user: str, *statements: str, engine: str = "fetch") -> str:
        """Why the user may not run them."""
        with pytest.raises(QueryError) as caught:
            self.rows(user, *statements, engine=engine)
        return str(caught.value)


def registered(lake: Lake, views: Sequence[str] = VIEWS) -> Lake:
    lake.rows(
        OWNER,
        "CREATE DATABASE IF NOT EXISTS lake",
        create_with_handler("lake.t", lake.path),
        *(
            create_with_handler(f"lake.t__{view}", lake.path, {"hudi.metadata.view": view})
            for view in views
        ),
    )
    return lake


@pytest.fixture(scope="module")
def open_directory() -> Iterator[Path]:
    """A directory that everybody may pass; pytest keeps its own ones from others."""
    with tempfile.TemporaryDirectory(prefix="view-rights-") as name:
        directory = Path(name).resolve()
        directory.chmod(0o755)
        yield directory


@pytest.fixture(scope="module")
def place(golden: Mapping[str, Path], open_directory: Path) -> Path:
    """The base path of a table."""
    path = open_directory / "lake" / "table"
    path.parent.mkdir()
    path.parent.chmod(0o755)
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    for entry in (path, *path.rglob("*")):
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    shutil.chown(path, group=GROUP)
    return path


@pytest.fixture(scope="module")
def by_files(place: Path, pruning_service: ServiceProcess, open_directory: Path) -> Iterator[Lake]:
    """HiveServer2 asks storage, and the metastore checks its directories, as the user."""
    with HiveServer(open_directory / "server", settings=BY_STORAGE) as server:
        yield registered(Lake(server, pruning_service, place))


@pytest.fixture
def closed(place: Path) -> Iterator[Path]:
    """The base path while its directory is open to its owner and READER only."""
    place.chmod(0o750)
    yield place
    place.chmod(0o755)


RANGES = "SELECT path, min_value, max_value FROM lake.t__column_ranges"
BEHIND = RANGES.replace("t__", "t.")
NO_RIGHT = "may not read the Hudi table"


@pytest.mark.parametrize("engine", ["fetch", "mr", "tez"])
def test_views_need_the_right_to_the_tables_files(
    by_files: Lake, closed: Path, engine: str
) -> None:
    for view in VIEWS:
        for name, refusal in ((f"t__{view}", NO_RIGHT), (f"t.{view}", "Permission denied")):
            query = f"SELECT * FROM lake.{name}"
            assert by_files.rows(OWNER, query, engine=engine)
            assert by_files.rows(READER, query, engine=engine)
            if engine != "tez":  # whose local mode does not survive a task that fails
                assert refusal in by_files.refusal(STRANGER, query, engine=engine), name
    assert NO_RIGHT in by_files.refusal(STRANGER, f"{RANGES} WHERE column_name = 'amount'")


def test_the_plan_of_a_view_tells_a_stranger_nothing(by_files: Lake, closed: Path) -> None:
    for query in (RANGES, BEHIND):
        assert "the service sends" in repr(by_files.rows(READER, f"EXPLAIN {query}"))
        try:
            shown = repr(by_files.rows(STRANGER, f"EXPLAIN {query}"))
        except QueryError as error:
            shown = str(error)
        assert "the service sends" not in shown


@pytest.mark.smoke("SELECT DISTINCT")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT min(amount), max(amount) FROM lake.t",
        "SELECT min(amount) FROM lake.t WHERE region = 'us'",
        "SELECT count(*) FROM lake.t",
        "SELECT DISTINCT region FROM lake.t",
        "SELECT amount FROM lake.t LIMIT 1",
        "DESCRIBE lake.t",
        "EXPLAIN SELECT amount FROM lake.t WHERE amount > 100",
        "EXPLAIN SELECT region, count(*) FROM lake.t GROUP BY region",
        "ANALYZE TABLE lake.t COMPUTE STATISTICS",
        "SHOW TBLPROPERTIES lake.t",
        "DESCRIBE FORMATTED lake.t amount",
    ],
)
def test_nothing_about_the_table_itself_is_answered_without_the_right(
    by_files: Lake, closed: Path, query: str
) -> None:
    assert by_files.rows(OWNER, query) or query.startswith("ANALYZE")
    assert "Permission denied" in by_files.refusal(STRANGER, query)


def test_rows_of_a_partition_need_the_right_to_its_directory(by_files: Lake, place: Path) -> None:
    partition = place / "region=us"
    partition.chmod(0o700)
    try:
        assert by_files.rows(OWNER, RANGES)
        for view in ("files", "column_ranges"):
            query = f"SELECT path FROM lake.t__{view}"
            assert NO_RIGHT in by_files.refusal(READER, query)
            assert by_files.rows(READER, f"{query} WHERE partition_path = 'region=eu'")
    finally:
        partition.chmod(0o755)


@pytest.mark.smoke
def test_a_stranger_makes_no_view_of_a_table_that_he_may_not_read(
    by_files: Lake, closed: Path, open_directory: Path
) -> None:
    own = open_directory / "own"
    for name in ("table", "link"):
        (own / ".pyhudi-views" / name / "column_ranges").mkdir(parents=True)
    (own / "link").symlink_to(closed)
    for entry in (own, *own.rglob("*")):
        if not entry.is_symlink():
            entry.chmod(0o777)
    by_files.rows(OWNER, f"CREATE DATABASE IF NOT EXISTS own LOCATION '{own / 'db'}'")
    for database in (own / "db", by_files.server.run_dir / "warehouse" / "own.db"):
        database.chmod(0o777)
    directory = own / ".pyhudi-views" / "link" / "column_ranges"
    property_ = {"hudi.metadata.view": "column_ranges"}
    for location in (closed, directory):
        by_handler = create_with_handler("own.v", location, property_)
        refusal = by_files.refusal(STRANGER, by_handler)
        assert NO_RIGHT in refusal or "Permission denied" in refusal
    by_format = (
        "CREATE EXTERNAL TABLE own.f (column_name string) ROW FORMAT SERDE"
        " 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' STORED AS INPUTFORMAT"
        f" '{INPUT_FORMATS[1]}' OUTPUTFORMAT 'io.pyhudi.hive.HudiOutputFormat' LOCATION"
        f" '{directory}'"
    )
    by_files.rows(STRANGER, by_format)
    refusal = by_files.refusal(STRANGER, "SELECT column_name FROM own.f")
    assert "only a table with the storage handler reads it" in refusal


@pytest.fixture(scope="module")
def by_grants(
    place: Path, pruning_service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lake]:
    """HiveServer2 asks storage as itself, and authorises statements by grants."""
    settings = {**AUTHORISED, "hive.users.in.admin.role": f"chief,{OWNER}"}
    with HiveServer(tmp_path_factory.mktemp("by-grants"), settings=settings) as server:
        lake = Lake(server, pruning_service, place)
        lake.rows(
            "chief",
            "SET ROLE admin",
            "CREATE DATABASE lake",
            f"ALTER DATABASE lake SET OWNER USER {OWNER}",
        )
        # Hive looks at each file below the directory for each of them.
        yield registered(lake, ["column_ranges"])


@pytest.mark.long
def test_views_need_select_on_the_table_that_they_describe(by_grants: Lake) -> None:
    assert by_grants.rows(OWNER, RANGES)
    assert "Permission denied" in by_grants.refusal(READER, RANGES)
    by_grants.rows(OWNER, f"GRANT SELECT ON TABLE lake.t__column_ranges TO USER {READER}")
    for statement in (RANGES, f"EXPLAIN {RANGES}"):
        assert "takes the rights on the table itself" in by_grants.refusal(READER, statement)
    by_grants.rows(OWNER, f"GRANT SELECT ON TABLE lake.t TO USER {READER}")
    assert by_grants.rows(READER, RANGES)
    assert "Permission denied" in by_grants.refusal(STRANGER, RANGES)


@pytest.mark.long
def test_views_behind_a_name_need_select_on_the_table(by_grants: Lake) -> None:
    by_grants.rows(OWNER, f"REVOKE SELECT ON TABLE lake.t FROM USER {READER}")
    assert by_grants.rows(OWNER, BEHIND)
    for statement in (BEHIND, f"EXPLAIN {BEHIND}"):
        assert "Permission denied" in by_grants.refusal(READER, statement)
    by_grants.rows(OWNER, f"GRANT SELECT ON TABLE lake.t TO USER {READER}")
    assert by_grants.rows(READER, BEHIND)


@pytest.mark.long
def test_a_view_without_its_table_beside_it_is_not_read(by_grants: Lake) -> None:
    by_grants.rows(
        OWNER, create_with_handler("lake.other", by_grants.path, {"hudi.metadata.view": "files"})
    )
    refusal = by_grants.refusal(OWNER, "SELECT * FROM lake.other")
    assert "register it as TABLE__files beside TABLE" in refusal


@pytest.fixture(scope="module")
def masked(
    place: Path, pruning_service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lake]:
    """An authoriser masks a column of the table for LIMITED."""
    root = tmp_path_factory.mktemp("masked")
    policy = compiled_jar(_MASKS, HIVE_LIB, tmp_path_factory.mktemp("policy"))
    jars = (*aux_jars(), policy)
    with HiveServer(root / "server", jars=jars, settings=MASKED) as server:
        yield registered(Lake(server, pruning_service, place))


def test_views_of_a_table_with_masks_are_refused(masked: Lake) -> None:
    assert masked.rows(OWNER, RANGES)
    for view in VIEWS:
        refusal = masked.refusal(LIMITED, f"SELECT * FROM lake.t__{view}")
        assert "row filters or column masks" in refusal
        assert masked.rows(OWNER, f"SELECT * FROM lake.t.{view}")
        assert masked.refusal(LIMITED, f"SELECT * FROM lake.t.{view}")
