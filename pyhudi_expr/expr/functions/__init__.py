"""Functions of a query, as far as the bounds of their operands bound their results.

A rule reads a call (its name, the domains of its arguments, its literals, the zone) and gives a
`Signature`: the domain of the result and a `Function` from the operands' `Bounds` to the
result's, over all containers at once. Rules are sound for every engine that we serve: an overflow,
a rounding or a null that one of them could produce widens the result. Each module holds those of
one concern; `casts` are the conversions between domains (by `conversions` on bounds), `time_zones`
the wall clocks.

A function that nothing bounds still has its signature here (`opaque`), so that an index on that
very function can be asked about it.
"""

from pyhudi_expr.expr.functions.signature import Signature, Site


def lookup(site: Site) -> Signature | None:
    """What a call gives; None for a function, or types, of which nothing is known."""
    # Imported with the first call: most predicates have none, and the rules take time to import.
    from pyhudi_expr.expr.functions.registry import TABLES, WITHOUT_ARGUMENTS

    for rules in TABLES if site.domains else WITHOUT_ARGUMENTS:
        rule = rules.get(site.name)
        found = rule(site) if rule else None
        if found is not None:
            return found
    return None
