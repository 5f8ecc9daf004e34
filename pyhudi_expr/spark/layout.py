"""The old place of `pyhudi_expr.spark.clustering.layout_frames`, for programs that import it from
here.
"""

from pyhudi_expr.spark.clustering.layout_frames import order_by

__all__ = ["order_by"]
