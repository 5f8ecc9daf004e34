"""The functions of expression indexes, with the options that are their arguments."""

from __future__ import annotations

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition

IDENTITY = "identity"
"""Of the column's own values; for Bloom filters, as column_stats has their bounds."""

#: Hudi's names of the functions in Spark's SQL, with the options that are their arguments.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("year", "month", "day", "hour", "abs", "ceil", "floor"), ()),
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "length"), ()),
    **dict.fromkeys(("date_format", "from_unixtime"), ("format",)),
    **dict.fromkeys(("date_add", "date_sub"), ("days",)),
    "to_date": (),
    IDENTITY: (),
}
_NUMBERS = frozenset({"days"})


def arguments(definition: IndexDefinition) -> list[int | str]:
    """Return the arguments of an index's function besides the column.

    Raises:
        HudiError: The function is unknown, or has other options.
    """
    name, options = definition.function, dict(definition.options)
    options.pop("expr", None)
    expected = _FUNCTIONS.get(name)
    if expected is None or options.keys() != set(expected):
        wanted = f" (with the options {', '.join(expected)})" if expected else ""
        given = f" with the options {', '.join(sorted(options))}" if options else ""
        raise HudiError(
            f"an index over {name!r}{given} is not known{wanted}; known functions: "
            f"{', '.join(sorted(_FUNCTIONS))}"
        )
    try:
        return [int(options[o]) if o in _NUMBERS else options[o] for o in expected]
    except ValueError as error:
        raise HudiError(f"{definition.name}: {error}") from error
