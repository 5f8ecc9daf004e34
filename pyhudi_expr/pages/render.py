"""Render the pages from the templates beside this module."""

from __future__ import annotations

from urllib.parse import quote

from pyhudi_expr.table.optional_dependencies import require_extra

with require_extra("cli"):
    from jinja2 import Environment, PackageLoader, StrictUndefined


def megabytes(size: int) -> str:
    """Format bytes as MB, with one decimal."""
    return f"{size / 1e6:,.1f} MB"


def render(template: str, **context: object) -> str:
    """Return the HTML of a template; every value of the context is escaped."""
    return _ENVIRONMENT.get_template(template).render(context)


def _count(number: int) -> str:
    return f"{number:,}"


def _url_component(text: str) -> str:
    return quote(text, safe="")


_ENVIRONMENT = Environment(
    loader=PackageLoader("pyhudi_expr.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(count=_count, megabytes=megabytes, url_component=_url_component)
