"""Spark's types as Arrow's, with every version of PySpark."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

# PySpark wants it since 4.2. The versions before take UTC themselves.
_ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
)


def arrow_type(type_: t.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type, with the zone UTC for timestamps that have one.

    Raises:
        PySparkTypeError: Arrow has none.
    """
    return to_arrow_type(type_, **_ZONE)
