"""Former module of `pyhudi_expr.frontend.arrow.filter_lists`; re-exports its names."""

from pyhudi_expr.frontend.arrow.filter_lists import FilterError, parse_filters

__all__ = ["FilterError", "parse_filters"]
