"""Functions of a query: bounds of their results from the bounds of their operands.

A rule takes a call (its name, the domains of its arguments, its literals, the zone) and returns a
`Signature`: the domain of the result and a `Function` from the operands' `Bounds` to the result's,
over all containers at once. Rules are sound for every supported engine: an overflow, a rounding or
a null that one of them could produce widens the result. Each module holds the rules of one concern;
`casts` are the conversions between domains (by `conversions` on bounds), `time_zones` the wall
clocks.

A function without bounds has a signature, too (`opaque`), so that an index over that function can
evaluate it.
"""

from pyhudi_expr.expr.functions.signature import Signature, Site


def lookup(site: Site) -> Signature | None:
    """Return the signature of a call; None for an unknown function or unknown types."""
    # Imported with the first call: most predicates have none, and the import takes time.
    from pyhudi_expr.expr.functions.registry import TABLES, WITHOUT_ARGUMENTS

    for rules in TABLES if site.domains else WITHOUT_ARGUMENTS:
        rule = rules.get(site.name)
        found = rule(site) if rule else None
        if found is not None:
            return found
    return None
