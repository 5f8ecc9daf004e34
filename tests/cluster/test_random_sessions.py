"""Random conditions in random sessions of Hive, where containers have zones of their own.

Instants are read in the zone of a container's JVM, and functions evaluate in the session's.
"""

from __future__ import annotations

import random
from contextlib import suppress
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
from tests.hive.random_queries import conditions, session_of, written
from tests.truth.engines.spark import SparkEngine
from tests.truth.zones import Zones

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.timeout(3600, func_only=True)]

#: Four of the zones whose rules differ between hosts, and others.
ZONES_ASKED = ("Europe/Stockholm", "America/Mexico_City", "UTC", "Asia/Tokyo")
TABLE = "random_sessions"
#: A container starts for seconds, a query in one that runs takes one or two.
IN_A_SESSION = 36


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
    settings = {**session_of(zone, rng), "hive.tez.java.opts": options}
    texts = conditions(SparkEngine(spark, tmp_path), zones, rng.choice((read_in, "UTC")), rng)
    compared = skipping = 0
    for text in rng.sample(texts, len(texts)):
        query = f"SELECT id FROM {table} WHERE {text}"
        with suppress(QueryError):
            unpruned = hive.ask(query, MASTER, pruning=False, settings=settings)
            pruned = hive.ask(query, MASTER, settings=settings)
            assert pruned.rows == unpruned.rows, f"{text} in {settings}"
            compared += 1
            skipping += pruned.files[1] < pruned.files[0]
        if compared == IN_A_SESSION:
            break
    print(f"{compared} conditions read in {read_in} by a session in {zone}, {skipping} skip files")
    assert compared == IN_A_SESSION
