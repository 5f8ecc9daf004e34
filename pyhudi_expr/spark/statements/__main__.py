"""`python -m pyhudi_expr.spark.statements`: what a Spark session starts to run a statement."""

from __future__ import annotations

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.indexing.statements import StatementError
from pyhudi_expr.spark.statements.execution import attach, end_with_parent, execute


def main() -> None:
    """Run the JVM's statement, and give it the rows or the error."""
    end_with_parent()
    spark, statement = attach()
    try:
        for row in execute(spark, statement.text(), statement):
            statement.row(list(row))
    except StatementError as error:
        statement.notUnderstood(str(error))
    except HudiError as error:
        statement.failed(str(error))
    else:
        statement.done()


if __name__ == "__main__":
    main()
