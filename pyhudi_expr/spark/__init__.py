"""PySpark jobs that build indexes: from a table's files to the HFiles of its metadata table.

The executors need this package, no Hudi jar. Needs the extra `spark`.
"""

from pyhudi_expr.indexing.writer_options import writer_options

__all__ = ["writer_options"]
