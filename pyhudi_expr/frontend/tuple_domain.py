"""Former module of `pyhudi_expr.frontend.trino.tuple_domain`; re-exports its names."""

from pyhudi_expr.frontend.trino.tuple_domain import DomainError, parse_tuple_domain

__all__ = ["DomainError", "parse_tuple_domain"]
