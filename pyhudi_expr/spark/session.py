"""Sessions with our extension: Hudi tables are read with pruning by ordinary Spark SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import own_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.pyhudi.spark.PyHudiExtension"
"""The extension's class, for `spark.sql.extensions`."""

COORDINATES = "io.pyhudi:pyhudi-spark-extension:"
"""The jar's in a Maven repository, without the version."""

_HUDI_EXTENSION = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
_SUPPORTED = "3.5"
_EXTENSIONS = "spark.sql.extensions"
_JARS, _PACKAGES = "spark.jars", "spark.jars.packages"
_PYTHON = "spark.pyhudi.python"
_JAR = "pyhudi-spark-extension.jar"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the extension to a session that is not built yet; return the builder.

    It comes after the extensions that the builder has, and after Hudi's. The jar is that of the
    wheel, or in a checkout that of ``make spark-jar``, unless the builder's `spark.jars.packages`
    have it (``io.pyhudi:pyhudi-spark-extension:VERSION``); Hudi's bundle is yours to add. Unless
    `spark.pyhudi.service` names a service, the session starts one with this interpreter at its
    first query of a Hudi table.

    Raises:
        HudiError: The jar is missing, or PySpark is not 3.5.
    """
    import pyspark  # writers' options need none

    if not pyspark.__version__.startswith(f"{_SUPPORTED}."):
        raise HudiError(
            f"the session extension is for Spark {_SUPPORTED}, and this is PySpark "
            f"{pyspark.__version__}; read tables by pyhudi_expr.spark.query.dataframes.pruned, "
            f"or install: pyspark=={_SUPPORTED}.*"
        )
    given: dict[str, str] = {key: str(value) for key, value in builder._options.items()}
    extensions = _listed(given.get(_EXTENSIONS, ""))
    for name in (_HUDI_EXTENSION, EXTENSION):
        if name not in extensions:
            extensions.append(name)
    builder = builder.config(_EXTENSIONS, ",".join(extensions))
    packages = _listed(given.get(_PACKAGES, ""))
    if not any(package.startswith(COORDINATES) for package in packages):
        jars, jar = _listed(given.get(_JARS, "")), str(extension_jar())
        builder = builder.config(_JARS, ",".join(jars if jar in jars else [*jars, jar]))
    return builder if _PYTHON in given else builder.config(_PYTHON, sys.executable)


def extension_jar() -> Path:
    """Return the path of the extension's jar. Raises HudiError if it is missing."""
    return own_jar(_JAR, "spark-jar")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
