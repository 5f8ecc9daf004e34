"""The version of the installed package."""

from pyhudi_expr.installation import version

__version__ = version()
