"""Layouts: the order of rows in a table's files, so that statistics of files can prune.

`curves` (RFC-28's z-order, and Hilbert's) order rows of several numbers, `mappings` map values to
such numbers, `row_order` combines the two. `analysis` estimates what a layout would do for given
predicates. Nothing here needs Spark: `pyhudi_expr.spark.clustering` lays out DataFrames and tables.
"""

from pyhudi_expr.manage.layout.curves import Curve, hilbert, interleave
from pyhudi_expr.manage.layout.row_order import InvalidLayout, Layout, Mapping

__all__ = ["Curve", "InvalidLayout", "Layout", "Mapping", "hilbert", "interleave"]
