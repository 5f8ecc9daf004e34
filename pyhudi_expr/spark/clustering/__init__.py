"""Order rows by a layout: DataFrames, and tables by Hudi's own clustering."""

from pyhudi_expr.spark.clustering.clustering import Clustered, ClusterOptions, cluster

__all__ = ["ClusterOptions", "Clustered", "cluster"]
