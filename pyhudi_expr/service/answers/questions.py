"""Read what a request asks: a condition of Spark (``SparkCondition``), and the rows it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyhudi_expr.expr.frontend.common.constants import InexpressibleError, parse_type
from pyhudi_expr.expr.frontend.spark.catalyst import Unwritten, parse_catalyst
from pyhudi_expr.expr.frontend.spark.nodes import CatalystError
from pyhudi_expr.expr.nodes import Column, HudiExpression
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.index.limits.narrowing import OrderColumn, WantedRows
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.protocol.conversion.decoder import Limits
from pyhudi_expr.protocol.conversion.literals import BadRequestError, decode_literal
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.ttypes import Literal, SparkCondition


def decode_spark(condition: SparkCondition, semantics: Semantics, limits: Limits) -> HudiExpression:
    """Return the expression of a condition. What cannot be evaluated becomes `Unknown`.

    Raises:
        BadRequestError: The condition violates the protocol or a limit.
    """
    if not isinstance(condition.tree, str):
        raise BadRequestError("a condition of Spark without its tree")
    constants, sets = condition.constants or {}, condition.sets or {}
    if sum(map(len, sets.values())) > limits.nodes:
        raise BadRequestError(f"sets of more than {limits.nodes} values")
    if condition.tree.count("{") + condition.tree.count("[") > limits.nodes:
        raise BadRequestError(
            f"the condition of Spark has more than {limits.nodes} objects and lists"
        )
    try:
        return parse_catalyst(
            condition.tree,
            Unwritten(
                lambda number: _constant(number, constants, sets, limits.literal_bytes),
                frozenset(condition.tried or ()).__contains__,
            ),
            semantics,
        )
    except CatalystError as error:
        raise BadRequestError(f"the condition of Spark: {error}") from error


def reader_of(condition: SparkCondition) -> PartitionReader:
    """Return how the caller reads partition columns."""
    return PartitionReader.ANY if condition.valuesFromPaths else PartitionReader.HUDI_SPARK


def _constant(
    number: int,
    constants: Mapping[int, Literal],
    sets: Mapping[int, Sequence[Literal]],
    max_bytes: int,
) -> object:
    """Return the value of a node, or the list of a set's. Raises LookupError if none was sent."""
    if number in sets:
        return [decode_literal(value, max_bytes).value for value in sets[number]]
    return decode_literal(constants[number], max_bytes).value


def wanted_rows(request: ttypes.PruneRequest) -> tuple[WantedRows, ...]:
    """Return the rows that a request needs, each of these; nothing if it may need all of them.

    Raises:
        BadRequestError: The request violates the protocol.
    """
    parts = request.firstRowsOfEach
    if parts is None:
        parts = [] if request.firstRows is None else [request.firstRows]
    wanted = [_wanted(first) for first in parts]
    known = tuple(each for each in wanted if each is not None)
    return known if len(known) == len(parts) else ()


def _wanted(first: ttypes.FirstRows) -> WantedRows | None:
    """Return what a part of a query needs; None if that is unknown."""
    if first.rows is None or first.rows < 0:
        raise BadRequestError(f"the request needs {first.rows} rows")
    if first.path is None:
        return WantedRows(first.rows)
    if not first.path or not all(first.path) or first.type is None:
        raise BadRequestError("the request orders rows by a column without a path or type")
    try:
        column = Column(tuple(first.path), parse_type(first.type))
    except InexpressibleError:
        return None
    order = OrderColumn(
        column, bool(first.descending), bool(first.nullsFirst), bool(first.anyOfEqual)
    )
    return WantedRows(first.rows, order)
