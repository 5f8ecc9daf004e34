"""What Spark reads of a table by Hudi alone, once for each state, with the truth of conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

_ALONE = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}


@dataclass(frozen=True)
class Witness:
    """The rows of a state.

    Attributes:
        rows: All rows, of all columns.
        truths: For each condition that Spark evaluates, which rows it is TRUE for.
    """

    rows: pa.Table
    truths: dict[str, pa.Array]

    def matching(self, condition: str | None) -> pa.Table:
        """Return the rows that match a condition; None for all."""
        return self.rows if condition is None else self.rows.filter(self.truths[condition])


def ask_spark(
    spark: SparkSession, path: str, conditions: Sequence[str], as_of: str | None = None
) -> Witness:
    """Read a state, at an instant."""
    options = _ALONE if as_of is None else {**_ALONE, "as.of.instant": as_of}
    frame = spark.read.format("hudi").options(**options).load(path)
    known = [text for text in conditions if _is_analysed(frame, text)]
    evaluated = [f"coalesce(({text}), false) AS q_{number}" for number, text in enumerate(known)]
    answer = _arrow(frame.selectExpr("*", *evaluated))
    truths = {text: answer[f"q_{number}"].combine_chunks() for number, text in enumerate(known)}
    return Witness(answer.select(frame.columns), truths)


def _is_analysed(frame: DataFrame, condition: str) -> bool:
    try:
        frame.selectExpr(f"({condition}) AS q")
    except PySparkException:
        return False
    return True


def _arrow(frame: DataFrame) -> pa.Table:
    """Collect as Arrow, in which Python's limits of dates do not matter."""
    batches = frame._collect_as_arrow()
    if not batches:
        return to_arrow_schema(frame.schema).empty_table()
    return pa.Table.from_batches(batches)


def counted(rows: pa.Table) -> Counter[Any]:
    """Return the rows as values that are equal if the values are, in every bit but NaN's."""
    columns = [_plain(rows[name].combine_chunks()) for name in sorted(rows.column_names)]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): rows.num_rows})


def _plain(values: pa.Array) -> list[str]:
    return [repr(one) for one in _comparable(values).to_pylist()]


def _comparable(values: pa.Array) -> Any:
    """Return values without what Python cannot hold, such as years beyond 9999."""
    type_ = values.type
    if pa.types.is_timestamp(type_):
        return values.cast(pa.timestamp("us", type_.tz)).view(pa.int64())
    if pa.types.is_date(type_):
        return values.cast(pa.int32())
    if pa.types.is_struct(type_):
        fields = [_comparable(pc.struct_field(values, field.name)) for field in type_]
        names = [field.name for field in type_]
        return pa.StructArray.from_arrays(fields, names, mask=values.is_null())
    if pa.types.is_list(type_):
        return pa.ListArray.from_arrays(
            _offsets(values), _comparable(pc.list_flatten(values)), mask=values.is_null()
        )
    return values


def _offsets(values: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    return pa.array([0, *pc.cumulative_sum(lengths).to_pylist()], pa.int32())


def shown_type(type_: pa.DataType) -> str:
    """Return a type as users see it: without names of list items, nullability and zones' names."""
    if pa.types.is_list(type_):
        return f"list<{shown_type(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{shown_type(type_.key_type)}, {shown_type(type_.item_type)}>"
    if pa.types.is_struct(type_):
        fields = ", ".join(f"{field.name} {shown_type(field.type)}" for field in type_)
        return f"struct<{fields}>"
    return str(type_)
