"""Decode a condition of Spark (``SparkCondition`` of pruning.thrift) to an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyhudi_expr.expr.frontend.spark.catalyst import Unwritten, parse_catalyst
from pyhudi_expr.expr.frontend.spark.data_types import CatalystError
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.protocol.conversion.decoder import Limits
from pyhudi_expr.protocol.conversion.literals import BadRequestError, decode_literal
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
