"""Layouts: in which order rows lie in a table's files, so that statistics of files can prune.

`curves` (RFC-28's z-order, and Hilbert's) order rows of several numbers, `direct_mapping` and
`boundary_mapping` make such numbers of values, `row_order` puts the two together. `analysis` says
what a layout would do for given predicates. Nothing here needs Spark: `pyhudi_expr.spark` has the
jobs that lay DataFrames (`layout`) and tables (`clustering`) out.
"""

from pyhudi_expr.layout.curves import Curve, hilbert, interleave
from pyhudi_expr.layout.row_order import InvalidLayout, Layout, Mapping

__all__ = ["Curve", "InvalidLayout", "Layout", "Mapping", "hilbert", "interleave"]
