"""What the Python workers of Spark's tasks have in their environment."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from pyhudi_expr.table.storage import OPTIONS_VARIABLE


def share_storage_options(spark: SparkSession) -> None:
    """Give this process's storage options to the tasks of plans that are made from now on.

    Tasks open tables by their URIs. Credentials in variables of the driver's environment (AWS_* and
    the like) are not given to executors: set them there by `spark.executorEnv`.
    """
    environment = spark.sparkContext.environment
    options = os.environ.get(OPTIONS_VARIABLE)
    if options:
        environment[OPTIONS_VARIABLE] = options
    else:
        environment.pop(OPTIONS_VARIABLE, None)
