"""Former module of `pyhudi_expr.spark.query.dataframes`; re-exports its names."""

from pyhudi_expr.spark.query.dataframes import PrunedTable, prune_table, pruned

__all__ = ["PrunedTable", "prune_table", "pruned"]
