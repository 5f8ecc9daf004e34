"""Former module of `pyhudi_expr.frontend.json.decoder`; re-exports its names."""

from pyhudi_expr.frontend.json.decoder import FormError, loads

__all__ = ["FormError", "loads"]
