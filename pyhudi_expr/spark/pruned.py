"""The old place of `pyhudi_expr.spark.query.dataframes`, for programs that import it from here."""

from pyhudi_expr.spark.query.dataframes import PrunedTable, prune_table, pruned

__all__ = ["PrunedTable", "prune_table", "pruned"]
