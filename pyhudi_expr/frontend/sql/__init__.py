"""SQL predicates of Hive, Spark, Trino, Presto and DuckDB."""

from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.frontend.sql.syntax import PredicateSyntaxError

__all__ = ["PredicateSyntaxError", "parse_predicate"]
