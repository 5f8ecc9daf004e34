"""Slices that suffice for a query with a LIMIT, with and without an order.

A predicate excludes slices without a matching row. A query that needs n rows only can pass over
more of them, if others surely have rows that are as good. Rows are sure to match where the opposite
question proves it: a slice cannot hold a row for which the predicate is FALSE or NULL, and no log
file changes its rows, so that their number is exact.

* Any n rows will do: the fewest slices of such rows are read, and no others (`narrowing`).
* The first n rows of an order: if n rows are surely at or before a threshold, those behind it are
  not among the first n, whatever further keys say. Slices with nothing but such rows are not read.

Other than with a predicate, what is passed over depends on what is read: this holds for one state
of the table only, in which all slices that are kept are read.

"Pruning in Snowflake" (arXiv 2504.11540) describes both.
"""
