"""Storage options of Spark's tasks: those of the thread that makes the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from pyhudi_expr.tables.storage import (
    block_options,
    joined_options,
    process_options,
    using_storage_options,
)
from pyhudi_expr.tables.storage.hadoop.carried_options import carried_options

_Rows = TypeVar("_Rows")
_Result = TypeVar("_Result")


def with_storage_options(
    step: Callable[[_Rows], Iterator[_Result]],
) -> Callable[[_Rows], Iterator[_Result]]:
    """Return a step for tasks that opens storages as this thread does now.

    The options are in the pickled function. Spark shows that nowhere, but does show a function's
    environment variables. Credentials in variables of the driver (AWS_* and the like) are not given
    to executors: set them there by `spark.executorEnv`. What WebHDFS needs of files of this machine
    is given.
    """
    options = carried_options(joined_options(process_options(), block_options()))

    def run(rows: _Rows) -> Iterator[_Result]:
        with using_storage_options(options):
            yield from step(rows)

    return run
