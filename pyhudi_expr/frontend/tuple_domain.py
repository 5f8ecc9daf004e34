"""The old place of `pyhudi_expr.frontend.trino.tuple_domain`, for programs that import it from
here.
"""

from pyhudi_expr.frontend.trino.tuple_domain import DomainError, parse_tuple_domain

__all__ = ["DomainError", "parse_tuple_domain"]
