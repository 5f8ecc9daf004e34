"""Render the pages from the templates beside this module."""

from __future__ import annotations

from datetime import datetime

from pyhudi_expr.installation import require_extra

with require_extra("cli"):
    from jinja2 import Environment, PackageLoader, StrictUndefined


def megabytes(size: int) -> str:
    """Format bytes as MB, or as GB or TB from 10 of them on."""
    unit, name = _unit(size)
    return f"{_rounded(size / unit)} {name}"


def size_of(part: int, total: int) -> str:
    """Format a part of some bytes: 0.4 of 163 MB."""
    unit, name = _unit(total)
    return f"{_rounded(part / unit)} of {_rounded(total / unit)} {name}"


def _unit(size: int) -> tuple[float, str]:
    return next(each for each in _UNITS if size >= 10 * each[0] or each[0] == 1e6)


def _rounded(amount: float) -> str:
    """Return an amount with one decimal below 100, and with two below 0.1."""
    if not amount or amount >= 100:
        return f"{amount:,.0f}"
    return f"{amount:,.1f}" if amount >= 0.1 else f"{amount:,.2f}"


def render(template: str, **context: object) -> str:
    """Return the HTML of a template; every value of the context is escaped."""
    return _ENVIRONMENT.get_template(template).render(context)


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    """Format a share from 0 to 1 with one decimal."""
    return f"{share:.1%}"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"))
_ENVIRONMENT = Environment(
    loader=PackageLoader("pyhudi_expr.api.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(count=_count, megabytes=megabytes, moment=_moment, percent=_percent)
