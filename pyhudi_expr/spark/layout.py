"""Former module of `pyhudi_expr.spark.clustering.layout_frames`; re-exports its names."""

from pyhudi_expr.spark.clustering.layout_frames import order_by

__all__ = ["order_by"]
