"""Each setting that an engine's evaluators and readers refer to is sent, or is known not to matter.

The references are found in the engines' bytecode, so that a version with another one fails here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyspark
import pytest

from devtools.runtime import ROOT
from pyhudi_expr.spark.query import predicates
from tests.truth.settings.class_files import references
from tests.truth.settings.known import DRAWN, HIVE, SPARK
from tests.truth.witnesses import SPARK_SETTINGS

_HIVE_CLASSES = (
    "org/apache/hadoop/hive/(ql/udf/|ql/exec/vector/|ql/io/parquet/|serde2/|common/)"
    "|org/apache/hive/common/"
)
_JARS = [
    *ROOT.glob(".work/runtime/lib/hive-exec-*.jar"),
    *ROOT.glob(".work/links/**/hive-exec-*.jar"),
]
_SPARK_JARS = Path(pyspark.__file__).parent / "jars"
_SPARK_CLASSES = {
    "spark-catalyst": "org/apache/spark/sql/catalyst/(expressions/(?!aggregate|codegen)|util/)",
    "spark-sql-api": "org/apache/spark/sql/catalyst/util/",
    "spark-sql_": "org/apache/spark/sql/execution/datasources/parquet/",
}
_JAVA = "handler-java/{}.java"


def sent(source: str) -> set[str]:
    """The settings in a list of a Java class."""
    text = (ROOT / _JAVA.format(source)).read_text()
    (listed,) = re.findall(r"SETTINGS =.*?asList\((.*?)\)\);", text, re.DOTALL)
    return set(re.findall(r'"([^"]+)"', listed))


SENT_BY_HIVE = sent("src/main/java/io/pyhudi/hive/predicate/HiveSemantics")
SENT_BY_SPARK = sent("spark/src/main/java/io/pyhudi/spark/read/SparkSemantics")


@pytest.mark.parametrize("jar", _JARS, ids=lambda jar: jar.stem)
def test_every_setting_of_hives_evaluators_is_sent_or_known(jar: Path) -> None:
    found = references(jar, _HIVE_CLASSES, r"org/apache/hadoop/hive/conf/HiveConf\$ConfVars")
    settings = {name: classes for name, classes in found.items() if name.isupper()}
    assert len(settings) > 50
    unknown = settings.keys() - SENT_BY_HIVE - HIVE.keys()
    assert not {name: sorted(settings[name]) for name in unknown}


def test_every_setting_of_sparks_evaluators_is_sent_or_known() -> None:
    unknown: dict[str, list[str]] = {}
    for prefix, classes in _SPARK_CLASSES.items():
        (jar,) = _SPARK_JARS.glob(f"{prefix}*.jar")
        found = references(jar, classes, r"org/apache/spark/sql/internal/(SQL|SqlApi)Conf\$?")
        unknown |= {name: sorted(at) for name, at in found.items() if name not in SPARK}
    assert not unknown


def test_what_is_sent_is_not_known_to_be_irrelevant() -> None:
    assert not SENT_BY_HIVE & HIVE.keys()
    assert {key for key in SPARK.values() if key.startswith("spark.")} == SENT_BY_SPARK


def test_sparks_driver_sends_what_its_extension_sends() -> None:
    assert set(predicates.SETTINGS) == SENT_BY_SPARK


def test_what_is_said_to_be_drawn_is_drawn() -> None:
    drawn = [key.replace(".", "").lower() for key in SPARK_SETTINGS]
    said = [name for name, reason in SPARK.items() if reason == DRAWN]
    letters = [name.replace("_", "").lower() for name in said]
    assert letters
    assert not [one for one in letters if not any(one in key for key in drawn)]
