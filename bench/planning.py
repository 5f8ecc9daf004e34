"""Plan one query in a new process, for `bench.iceberg`.

`python -m bench.planning ours TABLE MOST LEAST FIRST`, or `theirs WAREHOUSE MOST LEAST FIRST`,
plans `spread < MOST AND (amount > LEAST OR code >= 'FIRST')` (`bench.tables.questions`). Each
reader gets the predicate as its own objects, so that neither parses SQL, and each process imports
one reader only.
"""

import sys
from collections.abc import Callable

from bench import cold

NAME = "bench.tables.synthetic"
"""The table's in PyIceberg's catalog."""


def ours(table: str, most: int, least: float, first: str) -> int:
    """Return the number of kept files."""
    import pyarrow as pa

    from pyhudi_expr.expr.nodes import And, Column, Comparison, Literal, Op, Or
    from pyhudi_expr.index.prune import Pruner, PruneRequest

    spread, amount, code = (Column((name,)) for name in ("spread", "amount", "code"))
    above = Comparison(Op.GT, amount, Literal(least, pa.float64()))
    behind = Comparison(Op.GTEQ, code, Literal(first, pa.string()))
    below = Comparison(Op.LT, spread, Literal(most, pa.int64()))
    request = PruneRequest(And((below, Or((above, behind)))))
    return Pruner().prune(table, request).files_kept


def iceberg(warehouse: str, most: int, least: float, first: str) -> Callable[[], int]:
    """Open the table; return a function that plans and gives the number of files to read."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.expressions import And, GreaterThan, GreaterThanOrEqual, LessThan, Or

    location = {"uri": f"sqlite:///{warehouse}/catalog.db", "warehouse": f"file://{warehouse}"}
    table = SqlCatalog("bench", **location).load_table(NAME)
    either = Or(GreaterThan("amount", least), GreaterThanOrEqual("code", first))
    asked = And(LessThan("spread", most), either)
    return lambda: len(list(table.scan(row_filter=asked).plan_files()))


def theirs(warehouse: str, most: int, least: float, first: str) -> int:
    """Return how many files PyIceberg plans to read."""
    return iceberg(warehouse, most, least, first)()


if __name__ == "__main__":
    reader, where, most, least, first = sys.argv[1:]
    cold.without_pandas()
    plan = {"ours": ours, "theirs": theirs}[reader]
    cold.report(plan(where, int(most), float(least), first))
