"""The old place of `pyhudi_expr.frontend.arrow.filter_lists`, for programs that import it from
here.
"""

from pyhudi_expr.frontend.arrow.filter_lists import FilterError, parse_filters

__all__ = ["FilterError", "parse_filters"]
