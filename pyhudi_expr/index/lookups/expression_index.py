"""`expr_index_*`: bounds, or a Bloom filter, of a function's results for each file.

An index is defined over one column (``sourceFields``), one function and its options. It gives
evidence about terms of a predicate that are exactly this call. Its entries have the keys and the
form of `column_stats` and `bloom_filters`. Only entries of base files are read.

What is trusted
---------------

Spark computed the entries in a session time zone that is not recorded. So functions that depend on
the zone are not trusted for instants: `hour(ts)` of a timestamp without zone is trusted, of one
with zone it is not. Functions that differ between engines are not trusted either: parts of texts
(characters or UTF-16 units) and patterns. Days before 1583, which readers rebase, are left to other
indexes. The texts in filters were encoded in the writer's charset, so only ASCII text is looked up.
A value count does not include nulls here, so an entry never shows that all values are null.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import Mask
from pyhudi_expr.expr.bound import (
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
    BoundStartsWith,
    BoundTerm,
    Leaf,
    walk,
)
from pyhudi_expr.expr.domains import Bounds, Domain, Kind, mask_or
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.lookups.bloom_filters import BloomFilters, WantedValues
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.planner import Answer, CostedSource, LookupCost, Question
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, COLUMN_STATS, EXPRESSION_INDEX_PREFIX
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import StringIndex
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

IDENTITY = "identity"
_DAYS = frozenset({Kind.DATE, Kind.WALL_CLOCK})
_TEXTS = frozenset({Kind.TEXT})
#: Functions with the same results in every engine and zone, for columns of these kinds.
_BELIEVED: Mapping[str, frozenset[Kind]] = {
    **dict.fromkeys(("year", "month", "day", "hour", "to_date", "date_format"), _DAYS),
    **dict.fromkeys(("date_add", "date_sub"), _DAYS),
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "length"), _TEXTS),
}
#: Hudi's functions by their names in queries.
_NAMES = {"ucase": "upper", "lcase": "lower", "dayofmonth": "day", "date": "to_date"}
_NAMES |= {"char_length": "length", "character_length": "length"}
#: The option that holds the second argument of a function.
_ARGUMENTS = {"date_format": "format", "date_add": "days", "date_sub": "days"}
_FIRST_CERTAIN_DAY = -141_000  # in 1583
_SECONDS_PER_DAY = 86_400


def expression_indexes(
    mdt: MetadataTable, listing: FileListing
) -> list[ExpressionStatistics | ExpressionFilters]:
    """Return the table's expression indexes of trusted functions.

    Raises:
        HudiError: The index definitions cannot be read.
    """
    found: list[ExpressionStatistics | ExpressionFilters] = []
    for name, definition in sorted(index_definitions(mdt.table).items()):
        if not name.startswith(EXPRESSION_INDEX_PREFIX) or name not in mdt.partitions:
            continue
        expression = _expression(definition)
        if expression is None:
            continue
        if definition.type == COLUMN_STATS and expression.function != IDENTITY:
            found.append(ExpressionStatistics(name, expression, mdt, listing))
        elif definition.type == BLOOM_FILTERS:
            found.append(ExpressionFilters(name, expression, mdt, listing))
    return found


@dataclass(frozen=True)
class Expression:
    """The expression of an index: a function of a column.

    Attributes:
        argument: The literal that the function takes besides the column.
    """

    function: str
    column: str
    argument: str | None = None


def expression_of(term: BoundTerm) -> Expression | None:
    """Return the expression of an index that would evaluate a term.

    Returns:
        None if the term is not a function of a column, or the function is not trusted.
    """
    if isinstance(term, BoundColumn):
        return Expression(IDENTITY, term.name) if term.char is None else None
    if not isinstance(term, BoundCall) or not term.args:
        return None
    column, *literals = term.args
    is_day = term.name == "cast" and term.domain.kind is Kind.DATE
    name = "to_date" if is_day else _NAMES.get(term.name, term.name)
    if not isinstance(column, BoundColumn) or column.domain.kind not in _BELIEVED.get(name, ()):
        return None
    match [_text(literal) for literal in literals]:
        case []:
            return Expression(name, column.name)
        case [str(argument)]:
            return Expression(name, column.name, argument)
    return None


@dataclass(frozen=True)
class MatchingCalls:
    """The calls in a predicate that are one expression.

    Attributes:
        result: A column that stands for them.
    """

    calls: frozenset[BoundCall]
    result: BoundColumn

    @staticmethod
    def of(expression: Expression, predicate: BoundExpression, name: str) -> MatchingCalls | None:
        """Find the calls of an expression in a predicate.

        Args:
            expression: The expression.
            predicate: The predicate.
            name: Name of the column that stands for the calls.

        Returns:
            None if there is no such call, or its results have no bounds.
        """
        calls = [
            term
            for term in walk(predicate)
            if isinstance(term, BoundCall) and expression_of(term) == expression
        ]
        if not calls or calls[0].domain.kind not in _TYPES:
            return None
        domain = calls[0].domain
        return MatchingCalls(frozenset(calls), BoundColumn(name, _TYPES[domain.kind], domain))

    def evidence(self, bounds: Bounds, excepted: Mask = False) -> Evidence:
        """Return evidence by bounds of the results, except about the `excepted` files."""
        evidence = StatisticsEvidence(_Results(self.result, bounds))
        return _OfCalls(self.calls, self.result, evidence, excepted)


def _expression(definition: IndexDefinition) -> Expression | None:
    """Return the expression of a definition; None if it has unknown options."""
    function, options = definition.function or IDENTITY, dict(definition.options)
    options.pop("expr", None)
    argument = options.pop(_ARGUMENTS.get(function, ""), None)
    known = function == IDENTITY or function in _BELIEVED
    lacks = function in _ARGUMENTS and argument is None
    if not known or lacks or options or len(definition.fields) != 1:
        return None
    return Expression(function, definition.fields[0], argument)


def _text(term: BoundTerm) -> str | None:
    if not isinstance(term, BoundLiteral) or term.lower != term.upper:
        return None
    value = term.lower
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


_TYPES: dict[Kind, pa.DataType] = {
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.INTEGER: pa.int64(),
}


class ExpressionStatistics:
    """Bounds of a function's results (a `Source`). Thread safe."""

    def __init__(
        self, name: str, expression: Expression, mdt: MetadataTable, listing: FileListing
    ) -> None:
        """Open the index of this name, which is also that of its metadata partition."""
        self.name = name
        self._expression = expression
        self._mdt = mdt
        self._listing = listing
        self._lock = threading.Lock()
        self._known: dict[Domain, ColumnBounds] = {}

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(store.nbytes for store in self._known.values())

    def answer(self, question: Question) -> Answer | None:
        """Load the bounds if the predicate has the call, see `Source`."""
        found = MatchingCalls.of(self._expression, question.predicate, self.name)
        if found is None:
            return None
        domain = found.result.domain
        with self._lock:
            if domain not in self._known:
                self._known[domain] = self._load(found.result)
            bounds = self._known[domain].bounds()
        relabelled = self._relabelled(next(iter(found.calls)), question)
        return Answer(found.evidence(bounds, relabelled))

    def _load(self, result: BoundColumn) -> ColumnBounds:
        """Read the entries of the listing's base files."""
        store = ColumnBounds(self._listing.num_files, result.domain)
        names = StringIndex(self._listing.file_name)
        if not names.are_distinct:
            return store
        found = self._mdt.statistics(self.name, [column_prefix(self._expression.column)])
        positions = names.find(found.file_name.fill_null(""))
        listed = positions >= 0
        listed[listed] = ~self._listing.file_is_log[positions[listed]]
        positions = positions[listed]
        entries = StatisticsEntries.of(found).filter(listed)
        bounds = decode(entries, result, np.zeros(len(positions), np.bool_)).bounds
        anything = np.ones(len(positions), np.bool_)
        store.put(positions, replace(bounds, may_be_value=anything, may_be_null=anything))
        return store

    def _relabelled(self, call: BoundCall, question: Question) -> Mask:
        """Return the files that may hold days that readers rebase."""
        column = call.args[0]
        if not isinstance(column, BoundColumn) or column.domain.kind not in _DAYS:
            return False
        if self._expression.function == "hour":
            return False
        is_day = column.domain.kind is Kind.DATE
        first = _FIRST_CERTAIN_DAY * (1 if is_day else _SECONDS_PER_DAY * column.domain.units)
        early = BoundComparison(Op.LT, column, BoundLiteral(first, first, column.domain))
        evidences = [answer.evidence for answer in question.answers]
        return as_array(may_be(early, True, evidences), self._listing.num_files)


@dataclass(frozen=True)
class _Results:
    """The bounds of one column that stands for a function's results (a `Statistics`)."""

    column: BoundColumn
    known: Bounds

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of the results, see `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.known if column == self.column else None


@dataclass(frozen=True)
class _OfCalls:
    """Evidence about leaves with certain calls, through a column that stands for these.

    Attributes:
        excepted: Files without evidence.
    """

    calls: frozenset[BoundCall]
    result: BoundColumn
    evidence: StatisticsEvidence
    excepted: Mask

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Replace the calls and evaluate the leaf, see `pyhudi_expr.expr.evaluate.Evidence`."""
        mapped = _mapped(leaf, self._stand_in)
        if mapped == leaf:
            return True
        return mask_or(self.evidence.may_be(mapped, truth), self.excepted)

    def _stand_in(self, term: BoundTerm) -> BoundTerm:
        if not isinstance(term, BoundCall):
            return term
        if term in self.calls:
            return self.result
        return replace(term, args=tuple(map(self._stand_in, term.args)))


def _mapped(leaf: Leaf, change: Callable[[BoundTerm], BoundTerm]) -> Leaf:
    """Return the leaf with its terms changed."""
    match leaf:
        case BoundComparison(left=left, right=right):
            return replace(leaf, left=change(left), right=change(right))
        case BoundIn(term=term):
            return replace(leaf, term=change(term))
        case BoundIsNull(term=term):
            return replace(leaf, term=change(term))
        case BoundStartsWith(term=term):
            return replace(leaf, term=change(term))
        case BoundMatches(term=term):
            return replace(leaf, term=change(term))


class ExpressionFilters(CostedSource):
    """Bloom filters of a function's results as text (a `Source`). Thread safe."""

    def __init__(
        self, name: str, expression: Expression, mdt: MetadataTable, listing: FileListing
    ) -> None:
        """Open the index of this name, which is also that of its metadata partition."""
        self.name = name
        self._expression = expression
        self._filters = BloomFilters(mdt, listing, name)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._filters.nbytes

    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost, see `CostedSource`."""
        return self._filters.cost(question, self._wanted_values(question))

    def answer(self, question: Question) -> Answer | None:
        """Evaluate the leaves with the call, see `Source`."""
        values_of_leaves = self._wanted_values(question)
        return (
            Answer(self._filters.evidence(question, values_of_leaves)) if values_of_leaves else None
        )

    def _wanted_values(self, question: Question) -> WantedValues:
        values_of_leaves: list[tuple[Leaf, Sequence[bytes]]] = []
        for leaf in question.positive_leaves:
            found = equality(_mapped(leaf, self._as_column))
            if found is not None and found[0].name == self.name and all(map(exact, found[1])):
                texts = [_spelled(option) for option in found[1]]
                known = [text for text in texts if text is not None]
                if len(known) == len(texts):
                    values_of_leaves.append((leaf, known))
        return values_of_leaves

    def _as_column(self, term: BoundTerm) -> BoundTerm:
        if isinstance(term, BoundLiteral) or expression_of(term) != self._expression:
            return term
        return BoundColumn(self.name, _TYPES.get(term.domain.kind, pa.null()), term.domain)


def _spelled(literal: BoundLiteral) -> bytes | None:
    """Return a value as Java's ``toString`` writes it, in bytes that all charsets share."""
    match literal.domain.kind:
        case Kind.TEXT if literal.lower.isascii():
            return bytes(literal.lower)
        case Kind.INTEGER:
            return str(literal.lower).encode()
    return None
