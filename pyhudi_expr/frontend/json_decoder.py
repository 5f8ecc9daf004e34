"""The old place of `pyhudi_expr.frontend.json.decoder`, for programs that import it from here."""

from pyhudi_expr.frontend.json.decoder import FormError, loads

__all__ = ["FormError", "loads"]
