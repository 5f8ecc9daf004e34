"""Former module of `pyhudi_expr.frontend.arrow.substrait`; re-exports its names."""

from pyhudi_expr.frontend.arrow.substrait import SubstraitError, parse_arrow, parse_substrait

__all__ = ["SubstraitError", "parse_arrow", "parse_substrait"]
