"""SQL predicates of Hive, Spark, Trino, Presto and DuckDB."""

from pyhudi_expr.expr.frontend.sql.conditions import PredicateSyntaxError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate

__all__ = ["PredicateSyntaxError", "parse_predicate"]
