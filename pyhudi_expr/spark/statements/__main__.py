"""`python -m pyhudi_expr.spark.statements`: what a Spark session starts to run a statement.

Or a write with virtual keys, whose rows the session has, in a plan.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.indexing.statements import StatementError
from pyhudi_expr.spark.jobs.job_errors import JavaObject, translate_spark_errors
from pyhudi_expr.spark.statements.execution import Row, attach, end_with_parent, execute
from pyhudi_expr.spark.virtual_keys.writing import save


def main() -> None:
    """Run the JVM's statement or write, and give it the rows or the error."""
    end_with_parent()
    spark, run = attach()
    try:
        for row in _rows(spark, run):
            run.row(list(row))
    except StatementError as error:
        run.notUnderstood(str(error))
    except HudiError as error:
        run.failed(str(error))
    else:
        run.done()


def _rows(spark: SparkSession, run: JavaObject) -> list[Row]:
    write = run.write()
    if write is None:
        return execute(spark, run.text(), run)
    with translate_spark_errors():
        save(DataFrame(write.frame(), spark), write.path(), dict(write.options()), write.mode())
    return []


if __name__ == "__main__":
    main()
