"""Tables with virtual keys in Spark: their keys as a column, writing, and rewriting them.

`pyhudi_expr.tables.keys` defines what keys are computed from.
"""
