"""Order rows by a layout: DataFrames, and tables by Hudi's own clustering."""

from pyhudi_expr.manage.laying_out import Clustered
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster

__all__ = ["ClusterOptions", "Clustered", "cluster"]
