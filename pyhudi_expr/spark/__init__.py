"""PySpark jobs over Hudi tables: index builds, layouts, virtual keys, pruned DataFrames.

Executors need this package, but no Hudi jar. Needs the extra `spark`.
"""

from pyhudi_expr.manage.indexing.writer_options import writer_options
from pyhudi_expr.spark.session import configure

__all__ = ["configure", "writer_options"]
