"""The old place of `pyhudi_expr.frontend.arrow.substrait`, for programs that import it from
here.
"""

from pyhudi_expr.frontend.arrow.substrait import SubstraitError, parse_arrow, parse_substrait

__all__ = ["SubstraitError", "parse_arrow", "parse_substrait"]
