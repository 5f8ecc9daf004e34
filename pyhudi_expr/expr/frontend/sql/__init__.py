"""SQL predicates of Hive, Spark, Trino, Presto and DuckDB."""

from pyhudi_expr.expr.frontend.sql.plain import parse_predicate

__all__ = ["parse_predicate"]
