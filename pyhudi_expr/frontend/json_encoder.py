"""Former module of `pyhudi_expr.frontend.json.encoder`; re-exports its names."""

from pyhudi_expr.frontend.json.encoder import dumps

__all__ = ["dumps"]
