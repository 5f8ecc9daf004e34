"""PySpark jobs over Hudi tables: index builds, layouts, virtual keys, pruned DataFrames.

Executors need this package, but no Hudi jar. Needs the extra `spark`.
"""

from pyhudi_expr.indexing.writer_options import writer_options

__all__ = ["writer_options"]
