"""Random conditions in random sessions of Hive, where containers have zones of their own.

Instants are read in the zone of a container's JVM, and functions evaluate in the session's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.cluster.configuration import SMALL_JVM
from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import MASTER
from devtools.ddl import create_with_handler
from devtools.tables import TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.cluster.cluster_hive import ClusterHive
from tests.example_counts import SEED, examples
from tests.hive.random_queries import APART, conditions, session_of, written
from tests.truth.engines.spark import SparkEngine
from tests.truth.zones import Zones

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.timeout(3600, func_only=True)]

#: Four of the zones whose rules differ between hosts, and others.
ZONES_ASKED = ("Europe/Stockholm", "America/Mexico_City", "UTC", "Asia/Tokyo")
TABLE = "random_sessions"
IN_A_SESSION = 36
#: A query takes seconds, however few rows it reads.
AT_ONCE = 6


@pytest.fixture(scope="module")
def table(
    hive: ClusterHive,
    cluster: Cluster,
    spark: SparkSession,
    zones: Zones,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """A table with rows around changes of the clocks of all zones."""
    rng = random.Random(f"{SEED}/rows")
    moments = [second for zone in ZONES_ASKED for second in zones.moments(zone, rng, 20)]
    parent = tmp_path_factory.mktemp("sessions")
    found = written(spark, TABLE, TableType.COW, parent, rng, moments)
    cluster.shell("-put", str(found.path), "/warehouse")
    hive.run(create_with_handler(TABLE, f"{cluster.root}/warehouse/{found.path.name}"))
    return TABLE


@pytest.mark.parametrize("number", range(examples(3)))
def test_rows_are_those_without_pruning(
    hive: ClusterHive,
    spark: SparkSession,
    table: str,
    zones: Zones,
    tmp_path: Path,
    number: int,
) -> None:
    print("PYHUDI_SEED", SEED)
    rng = random.Random(f"{SEED}/{number}")
    read_in, zone = rng.choice(ZONES_ASKED), rng.choice((*ZONES_ASKED, "LOCAL"))
    options = " ".join(("-Xmx448m", *SMALL_JVM, f"-Duser.timezone={read_in}"))
    settings = {**session_of(zone, rng), **APART, "hive.tez.java.opts": options}
    texts = conditions(SparkEngine(spark, tmp_path), zones, rng.choice((read_in, "UTC")), rng)
    texts = rng.sample(texts, len(texts))
    compared = skipped = 0
    while compared < IN_A_SESSION:
        some, texts = texts[:AT_ONCE], texts[AT_ONCE:]
        assert some, f"of a session in {zone} Hive accepts {compared} conditions only"
        answered, files = compare(hive, table, some, settings)
        compared, skipped = compared + answered, skipped + files
    print(
        f"{compared} conditions read in {read_in} by a session in {zone}, {skipped} files skipped"
    )
    assert skipped


def compare(
    hive: ClusterHive, table: str, texts: Sequence[str], settings: Mapping[str, str]
) -> tuple[int, int]:
    """Compare the rows of conditions with and without pruning, all in one query.

    Hive refuses some conditions, and fails for a row of others: the rest is compared.

    Returns:
        The number of conditions that were compared, and of files that were skipped for them.
    """
    query = " UNION ALL ".join(
        f"SELECT {number} AS n, id FROM {table} WHERE {text}" for number, text in enumerate(texts)
    )
    try:
        unpruned = hive.ask(query, MASTER, pruning=False, settings=settings)
        pruned = hive.ask(query, MASTER, settings=settings)
    except QueryError:
        if len(texts) == 1:
            return 0, 0
        middle = len(texts) // 2
        halves = (compare(hive, table, half, settings) for half in (texts[:middle], texts[middle:]))
        counts, files = zip(*halves, strict=True)
        return sum(counts), sum(files)
    differing = {texts[row[0]] for row in {*pruned.rows} ^ {*unpruned.rows}}
    assert not differing, f"{differing} in {settings}"
    assert len(pruned.rows) == len(unpruned.rows)
    considered, kept = pruned.files
    return len(texts), considered - kept
