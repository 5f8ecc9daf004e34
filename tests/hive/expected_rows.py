"""Expected ids: of the rows for which a predicate is TRUE, without pruning."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import SparkSession

from devtools.hive_versions import HIVE_41
from devtools.spark import session_settings
from devtools.tables import HudiTable
from tests.hive.query_results import NOTHING, Hive
from tests.index.prune.predicates import ALL

ZONE = "America/New_York"
"""The zone of the tests' HiveServer2."""

Ids = frozenset[int]

_OTHER_PLANNER = {"hive.cbo.enable": "false"}
"""Otherwise Hive 4.1 did not end to plan the projection of all predicates: it was in
`ReduceExpressionsRule`, and `coalesce(n, 0) = 11` took part. Hive 4.0 and 4.2 plan it."""

_HEX = re.compile(r"X'([0-9A-F]+)'")
_NONE = re.compile(r"\bnone\b")


def for_hive(predicate: str) -> str:
    """The predicate for Hive, where `none` is a keyword and hexadecimal literals do not exist."""
    return _NONE.sub("`none`", _HEX.sub(r"unhex('\1')", predicate))


class Truths:
    """The results of all predicates of a list in Hive and Spark, by one full scan each."""

    def __init__(self, hive: Hive, spark: SparkSession, predicates: Sequence[str] = ALL) -> None:
        self._hive = hive
        self._spark = spark
        self._predicates = predicates
        self._in_hive: dict[str, dict[str, Ids]] = {}
        self._in_spark: dict[str, dict[str, Ids]] = {}

    def in_hive(self, name: str, predicate: str) -> Ids:
        """The ids that Hive finds in its table `name`, without pruning."""
        if name not in self._in_hive:
            values = ", ".join(f"({for_hive(text)})" for text in self._predicates)
            settings = _OTHER_PLANNER if self._hive.server.line is HIVE_41 else NOTHING
            query = f"SELECT id, {values} FROM {name}"
            answer = self._hive.query(query, pruning=False, settings=settings)
            self._in_hive[name] = self._by_predicate(answer.rows)
        return self._in_hive[name][predicate]

    def in_spark(self, table: HudiTable, predicate: str) -> Ids:
        """The ids that Spark finds in a table, in the zone of the HiveServer2."""
        if table.name not in self._in_spark:
            frame = self._spark.read.format("hudi").options(
                **{"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
            )
            with session_settings(self._spark, {"spark.sql.session.timeZone": ZONE}):
                values = [f"({text}) AS t{n}" for n, text in enumerate(self._predicates)]
                rows = frame.load(str(table.path)).selectExpr("id", *values).collect()
            self._in_spark[table.name] = self._by_predicate(rows)
        return self._in_spark[table.name][predicate]

    def _by_predicate(self, rows: Sequence[Sequence[object]]) -> dict[str, Ids]:
        return {
            text: frozenset(int(str(row[0])) for row in rows if row[n])
            for n, text in enumerate(self._predicates, start=1)
        }
