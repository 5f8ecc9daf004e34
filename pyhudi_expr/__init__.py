"""Read Apache Hudi tables, and only those of their files that can match a predicate.

Start with a table, by a path or a URI:

    import pyhudi_expr as ph

    table = ph.table("/warehouse/trips")         # also s3://lake/trips, with storage_options={...}
    table.schema, table.properties, table.version
    table.columns, table.head(), table.count()
    table.files(), table.history(), table.indexes()

Or by its name in a Hive metastore or AWS Glue, `thrift://host:9083` or `glue` in PYHUDI_METASTORE:

    ph.list_tables("sales"), ph.load_table("sales.trips")

Which files can hold a matching row, and why:

    plan = table.prune("fare > 100 AND city = 'Oslo'")
    plan.files_kept, plan.files_total, plan.kept_paths(), plan.notes
    table.explain("fare > 100")

The rows themselves, without a query engine:

    scan = table.scan("fare > 100", columns=["id", "fare"], as_of="2026-01-31", limit=10)
    scan.to_arrow(), scan.to_pandas(), scan.to_polars(), scan.count()
    table.scan().filter("fare > 100").select(["id"]).limit(10)
    for batch in scan: ...

Lazily, by the conditions of other engines' queries:

    scan.to_duckdb("trips"), table.to_polars()

A predicate is SQL text, a pyarrow expression, or a list of filters. Pruning never loses a row: a
file is left out only if the table's statistics prove that no row of it can match. A part of a
predicate that cannot be evaluated is reported by a PyHudiWarning. Each of them is a HudiExpression
then, which programs may build and evaluate themselves.

`help(ph.Table)` describes a table, `help(ph.Scan)` and `help(ph.Plan)` the results. Every error is
a HudiError. Its subclasses here: TableNotFound, UnsupportedTable, CorruptFile, BeforeFirstCommit,
PredicateSyntaxError, FilterError, UnknownColumn, FilterNotApplicable, InvalidType, InvalidValue.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi_expr.api.catalog import list_tables, load_table
    from pyhudi_expr.api.functions import scan, table
    from pyhudi_expr.api.plan import Explanation, Plan
    from pyhudi_expr.api.scan import Scan
    from pyhudi_expr.api.table import Table
    from pyhudi_expr.errors import BeforeFirstCommit as BeforeFirstCommit
    from pyhudi_expr.errors import CorruptFile as CorruptFile
    from pyhudi_expr.errors import FilterNotApplicable as FilterNotApplicable
    from pyhudi_expr.errors import HudiError, PyHudiWarning
    from pyhudi_expr.errors import InvalidType as InvalidType
    from pyhudi_expr.errors import InvalidValue as InvalidValue
    from pyhudi_expr.errors import TableNotFound as TableNotFound
    from pyhudi_expr.errors import UnknownColumn as UnknownColumn
    from pyhudi_expr.errors import UnsupportedTable as UnsupportedTable
    from pyhudi_expr.expr.frontend.arrow.filter_lists import FilterError as FilterError
    from pyhudi_expr.expr.frontend.sql.conditions import (
        PredicateSyntaxError as PredicateSyntaxError,
    )
    from pyhudi_expr.expr.nodes import HudiExpression

    __version__: str

#: What help() describes. Each kind of error would fill a screen of it.
__all__ = [
    "Explanation",
    "HudiError",
    "HudiExpression",
    "Plan",
    "PyHudiWarning",
    "Scan",
    "Table",
    "__version__",
    "list_tables",
    "load_table",
    "scan",
    "table",
]

_ERRORS = "pyhudi_expr.errors"
#: The module of each name. Modules are imported on use, because some take long.
_MODULES = {
    "BeforeFirstCommit": _ERRORS,
    "CorruptFile": _ERRORS,
    "Explanation": "pyhudi_expr.api.plan",
    "FilterError": "pyhudi_expr.expr.frontend.arrow.filter_lists",
    "FilterNotApplicable": "pyhudi_expr.errors",
    "HudiError": _ERRORS,
    "HudiExpression": "pyhudi_expr.expr.nodes",
    "InvalidType": _ERRORS,
    "InvalidValue": _ERRORS,
    "Plan": "pyhudi_expr.api.plan",
    "PredicateSyntaxError": "pyhudi_expr.expr.frontend.sql.conditions",
    "PyHudiWarning": _ERRORS,
    "Scan": "pyhudi_expr.api.scan",
    "Table": "pyhudi_expr.api.table",
    "TableNotFound": _ERRORS,
    "UnknownColumn": _ERRORS,
    "UnsupportedTable": _ERRORS,
    "__version__": "pyhudi_expr.api",
    "list_tables": "pyhudi_expr.api.catalog",
    "load_table": "pyhudi_expr.api.catalog",
    "scan": "pyhudi_expr.api.functions",
    "table": "pyhudi_expr.api.functions",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*_MODULES, *(name for name in globals() if name.startswith("__"))]
