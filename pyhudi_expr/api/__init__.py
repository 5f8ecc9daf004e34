"""The public Python API: tables, plans, explanations and scans. `import pyhudi_expr` exports it.

Here are the package's version, and defaults of the API and of the command line.
"""

from __future__ import annotations

from pyhudi_expr.installation import version

__version__ = version()


DEFAULT_ZONE = "UTC"
"""The IANA time zone in which times without a zone are understood."""

DEFAULT_DIALECT = "hive"
"""The SQL in which predicates are written."""

DEFAULT_VIEW = "snapshot"
"""The files that are read: base and log files."""

#: Long enough to read every footer that a predicate needs.
FOOTER_WAIT_SECONDS = 600.0
