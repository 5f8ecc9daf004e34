"""The least and greatest of several values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.bounds import Bounds, Values, mask_or, may_be_nan
from pyhudi_expr.expr.common_domains import common_domain
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.functions.casts import as_read, conversion
from pyhudi_expr.expr.functions.conversions import identity
from pyhudi_expr.expr.functions.signature import (
    OnOperands,
    Rule,
    Signature,
    Site,
    greatest_known,
    least_known,
    opaque,
)


def _extreme(site: Site) -> Signature | None:
    domain = site.domains[0]
    for other in site.domains[1:]:
        common = common_domain(domain, other)
        if common is None:
            return None
        domain = common
    if domain.kind in (Kind.TEXT, Kind.BINARY, Kind.BOOLEAN):
        return opaque(domain, f"{site.name}() of {domain.kind.value} values")
    reading = as_read(domain) or identity
    found = [conversion(own, domain) for own in site.domains]
    converted = [step and OnOperands(reading, ((0, step),)) for step in found]
    if None in converted:
        return None
    is_float = domain.kind is Kind.FLOAT
    function = _Extreme(site.name == "greatest", is_float)
    return Signature(OnOperands(function, tuple(enumerate(converted))), domain)


@dataclass(frozen=True)
class _Extreme:
    """The greatest or least of several values. Nulls are skipped, or make the result NULL."""

    of_greatest: bool
    is_float: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        lower, upper = operands[0].lower, operands[0].upper
        least_lower, greatest_upper = lower, upper
        for operand in operands[1:]:
            choose = greatest_known if self.of_greatest else least_known
            lower, upper = choose(lower, operand.lower), choose(upper, operand.upper)
            least_lower = least_known(least_lower, operand.lower)
            greatest_upper = greatest_known(greatest_upper, operand.upper)
        nulls = mask_or(*(operand.may_be_null for operand in operands))
        # Engines order NaN differently.
        nan = mask_or(*(may_be_nan(operand) for operand in operands)) if self.is_float else False
        loose = mask_or(nulls, nan)
        return Bounds(
            _where(loose, least_lower, lower),
            _where(loose, greatest_upper, upper),
            mask_or(*(operand.may_be_value for operand in operands)),
            nulls,
        )


def _where(flags: Values, yes: Values, no: Values) -> Values:
    if isinstance(flags, bool | np.bool_):
        return yes if flags else no
    if isinstance(yes, np.ndarray | np.int64):
        return np.where(flags, yes, no)
    return pc.if_else(pa.array(flags), yes, no)


RULES: dict[str, Rule] = dict.fromkeys(("greatest", "least"), _extreme)
