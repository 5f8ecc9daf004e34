"""Spark's shell for SQL, with the jars and settings of the documents and nothing in Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from devtools.runtime import ROOT, hudi_bundle, java
from pyhudi_expr.spark.session import EXTENSION, extension_jar

pytestmark = [pytest.mark.spark, pytest.mark.long]

_SPARK = Path(pyspark.__file__).parent
_ROWS = """
SELECT id, 'rider ' || (id % 97) AS rider, substr('OsloLimaRome', id % 3 * 4 + 1, 4) AS city,
  CAST(id AS double) AS fare, id AS ts, '2024-05-0' || (1 + id % 2) AS day
  FROM range(0, 4000, 1, 4)
"""
_SCRIPT = """
SET hoodie.parquet.small.file.limit=0;
CREATE TABLE trips (id BIGINT, rider STRING, city STRING, fare DOUBLE, ts BIGINT, day STRING)
  USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts')
  LOCATION '{table}';
INSERT INTO trips {rows};
INSERT INTO trips SELECT id + 4000, rider, 'Bonn', fare + 4000, ts, day FROM ({rows});
CREATE INDEX IF NOT EXISTS ranges ON trips USING column_stats(ts, fare);
CREATE INDEX riders ON trips USING secondary_index(rider) OPTIONS (store = 'extension');
EXPLAIN SELECT * FROM trips WHERE fare > 7900;
SELECT 'first', count(*), min(fare) FROM trips WHERE fare > 7900;
SET pyhudi.indexes.follow=true;
UPDATE trips SET city = 'Paris' WHERE id = 17;
SELECT 'followed';
SHOW INDEXES FROM trips;
OPTIMIZE trips WHERE day = '2024-05-01' ZORDER BY (city, fare);
ANALYZE INDEXES trips;
SELECT 'last', count(*), sum(id) FROM trips WHERE city IN ('Paris', 'Bonn');
DROP INDEX riders;
SELECT 'dropped';
SHOW INDEXES FROM trips;
CALL show_commits(table => 'trips', limit => 2);
DROP TABLE trips;
"""


def test_statements_in_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(_SCRIPT.format(table=tmp_path / "trips", rows=_ROWS.strip()))
    hudi = "org.apache.spark.sql.hudi"
    settings = {
        "spark.sql.extensions": f"{hudi}.HoodieSparkSessionExtension,{EXTENSION}",
        "spark.sql.catalog.spark_catalog": f"{hudi}.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.pyhudi.timeout.ms": "60000",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    command = [str(_SPARK / "bin" / "spark-sql"), "--master", "local[2]"]
    command += ["--jars", f"{hudi_bundle()},{extension_jar()}", "-f", str(script)]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    environment = {
        **os.environ,
        "SPARK_HOME": str(_SPARK),
        "JAVA_HOME": str(java().resolve().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    found = re.search(r"pruning PRUNED, reads (\d+) of (\d+) files", printed)
    assert found is not None, printed
    assert int(found[1]) < int(found[2]), found
    assert "first\t99\t7901.0" in printed
    assert state(printed, "followed") == "active"
    # 4,000 rows of Bonn, ids 4000 to 7999, and the one that was changed.
    assert f"last\t4001\t{sum(range(4000, 8000)) + 17}" in printed
    assert "refreshed the index riders" in printed
    assert "CREATE INDEX" in printed
    assert state(printed, "dropped") is None


def state(printed: str, after: str) -> str | None:
    """The state of the index `riders` as the shell shows it after a line."""
    shown = printed.partition(f"\n{after}\n")[2]
    found = re.search(r"^riders\tsecondary_index\trider\textension\t(\w+)", shown, re.MULTILINE)
    return found[1] if found else None
