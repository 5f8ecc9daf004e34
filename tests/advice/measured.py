"""What is measured of a table with indexes that were advised."""

import numpy as np

from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.spark.indexes import execute


def asking(path, asked):
    """The mean of the queries' files and bytes."""
    pruner = Pruner()
    found = [pruner.prune(path, PruneRequest(each.predicate)) for each in asked]
    return np.mean([(each.files_kept, each.bytes_kept) for each in found], axis=0)


def warm_up(spark, path):
    """Builds an index and drops it: the first one of a session takes longer."""
    execute(spark, f"CREATE INDEX warm ON '{path}' USING column_stats(text)")
    execute(spark, f"DROP INDEX warm ON '{path}'")
