"""Type aliases of arrays: of numpy's, one for each dtype in use, and of Arrow's of any type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
UInt32Array: TypeAlias = npt.NDArray[np.uint32]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]
Float64Array: TypeAlias = npt.NDArray[np.float64]

# Arrow's classes take type arguments in their stubs only. The functions below say what the stubs do
# not know, so that no caller has to.
if TYPE_CHECKING:
    AnyArray: TypeAlias = pa.Array[Any]
    AnyChunkedArray: TypeAlias = pa.ChunkedArray[Any]
    AnyScalar: TypeAlias = pa.Scalar[Any]
    AnyField: TypeAlias = pa.Field[Any]
    AnyDictionaryArray: TypeAlias = pa.DictionaryArray[Any, Any]
else:
    AnyArray, AnyChunkedArray, AnyScalar, AnyField = pa.Array, pa.ChunkedArray, pa.Scalar, pa.Field
    AnyDictionaryArray = pa.DictionaryArray


def arrow_array(values: npt.NDArray[Any], mask: BoolArray | None = None) -> AnyArray:
    """Return a numpy array as an Arrow array, with nulls where the mask is set."""
    return pa.array(values, mask=mask)


def arrow_numbers(values: npt.NDArray[np.number[Any]]) -> AnyArray:
    """Return an array of numbers, but not of flags, as an Arrow array; it is not to change then.

    As `pa.array` does, which imports numpy's masked arrays to tell that it is none of them.
    """
    buffers = [None, arrow_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def arrow_nulls(size: int, type_: pa.DataType) -> AnyArray:
    """Return an Arrow array of nulls."""
    return pa.nulls(size, type_)  # type: ignore[call-overload]


def arrow_constant(size: int, value: AnyScalar) -> AnyArray:
    """Return an array of one value."""
    constant: Any = value
    return pa.repeat(constant, size)


def arrow_buffer(values: npt.NDArray[Any]) -> pa.Buffer:
    """Return the bytes of a contiguous numpy array, without a copy."""
    return pa.py_buffer(values)  # type: ignore[arg-type]


def arrow_schema_of(fields: Iterable[AnyField | tuple[str, pa.DataType]]) -> pa.Schema:
    """Return the schema of fields, or of names and types."""
    return pa.schema(list(fields))  # type: ignore[arg-type]


def string_list(array: AnyArray | AnyChunkedArray) -> list[str]:
    """Return the texts of a string array without nulls."""
    return array.to_pylist()  # type: ignore[return-value]


def from_buffer(buffer: pa.Buffer | bytes | None, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the values of an Arrow buffer, without a copy."""
    return np.frombuffer(buffer, dtype)  # type: ignore[arg-type]


def value_list(array: AnyArray | AnyChunkedArray) -> list[Any]:
    """Return an array as Python objects; None for nulls."""
    return array.to_pylist()


def combined(column: AnyChunkedArray) -> AnyArray:
    """Return the chunks as one array; the only chunk itself, without a copy."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # type: ignore[return-value]


def dictionary_of(column: AnyChunkedArray) -> AnyDictionaryArray:
    """Return a dictionary-encoded column as one array."""
    return column.combine_chunks()  # type: ignore[return-value]


def without_dictionary(array: AnyArray) -> AnyArray:
    """Return an array with its dictionary's values in place of the indices."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def zone_of(type_: pa.DataType) -> str | None:
    """Return the time zone of a timestamp type."""
    zone: str | None = type_.tz  # type: ignore[attr-defined]
    return zone


def precision_and_scale(type_: pa.DataType) -> tuple[int, int]:
    """Return the precision and the scale of a decimal type."""
    return type_.precision, type_.scale  # type: ignore[attr-defined]


def timestamp_type(unit: str, zone: str | None = None) -> pa.DataType:
    """Return the timestamp type of a unit ("s", "ms", "us" or "ns")."""
    return pa.timestamp(unit, zone)  # type: ignore[call-overload]


def runs(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """Return the numbers from each start on, as many as its length, one run behind the other."""
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
