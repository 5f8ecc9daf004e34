"""File pruning for Apache Hudi tables.

`scan` reads a table without a query engine. It is imported on first use, because it needs packages
that pruning alone does not.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi_expr.reading.scan import scan

__all__ = ["scan"]


def __getattr__(name: str) -> object:
    if name != "scan":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyhudi_expr.reading.scan import scan

    return scan
