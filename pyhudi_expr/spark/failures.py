"""One clear error for a Spark job that failed: what the task said, without the ways it came."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pyhudi_expr.table.errors import HudiError

# The last line of a task's traceback, where the error is one of ours.
_OURS = re.compile(r"^pyhudi_expr\.(?:\w+\.)+\w+: (.+)$", re.MULTILINE)
_LONGEST = 300


@contextmanager
def told_plainly() -> Iterator[None]:
    """Raises HudiError instead of what Spark raises."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise HudiError(_cause(str(error))) from error


def _cause(text: str) -> str:
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    told = (causes or lines or ["nothing is told"])[-1 if causes else 0]
    return f"the Spark job failed: {told[:_LONGEST]}"
