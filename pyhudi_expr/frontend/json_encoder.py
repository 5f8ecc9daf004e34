"""The old place of `pyhudi_expr.frontend.json.encoder`, for programs that import it from here."""

from pyhudi_expr.frontend.json.encoder import dumps

__all__ = ["dumps"]
