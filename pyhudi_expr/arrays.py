"""Types of arrays, numpy's and Arrow's, and the ways from one to the other.

pyarrow's own ways (`pa.array`, `pa.scalar`, `to_numpy`, `np.asarray`, a Python value as an argument
of `pc`) import pandas wherever it is installed, to tell that nothing of it was given. In a new
process that takes longer than a whole prune, so the path of a prune goes by the functions here.
"""

from __future__ import annotations

from array import array as python_array
from collections.abc import Iterable, Sequence
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

#: One boolean for each container, or one for all of them.
Mask: TypeAlias = BoolArray | np.bool_ | bool

#: What pyarrow raises where a file or its storage cannot be read.
READ_ERRORS = (OSError, pa.ArrowException)
#: That, and what it raises where a file can be read and is damaged.
DAMAGE_ERRORS = (*READ_ERRORS, ValueError)

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


#: Types of texts and bytes, with what is empty and the type of offsets.
_TEXTS: dict[pa.DataType, tuple[Any, Any]] = {
    pa.string(): ("", np.int32),
    pa.large_string(): ("", np.int64),
    pa.binary(): (b"", np.int32),
    pa.large_binary(): (b"", np.int64),
}
#: Types of numbers, with their codes of Python's arrays, which take no other numbers.
_NUMBERS = {pa.int32(): "i", pa.int64(): "q", pa.float32(): "f", pa.float64(): "d"}
_LONG = 100_000


def arrow_array(values: npt.NDArray[Any], mask: BoolArray | None = None) -> AnyArray:
    """Return a numpy array as an Arrow array, with nulls where the mask is set.

    It shares numbers with the numpy array, which is not to change then.
    """
    if values.dtype.kind not in "biuf" or not values.dtype.isnative:
        return pa.array(values, mask=mask)
    is_flags = values.dtype == np.bool_
    data = _bits(values) if is_flags else arrow_buffer(np.ascontiguousarray(values))
    buffers = [None if mask is None else _bits(~mask), data]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def arrow_list(values: Sequence[Any], type_: pa.DataType) -> AnyArray:
    """Return Python objects as an Arrow array, None as null.

    What this does not read is left to pyarrow, with pyarrow's errors; and so are long lists, which
    pyarrow reads in a third of the time.
    """
    if len(values) > _LONG:
        return pa.array(values, type_)
    nulls = sum(value is None for value in values) if None in values else 0
    if nulls == len(values):
        return arrow_nulls(nulls, type_)
    empty, offset_type = _TEXTS.get(type_, (0, None))
    given = [empty if value is None else value for value in values] if nulls else values
    try:
        if offset_type:
            buffers = _text_buffers(empty.join(given), given, offset_type)
        else:
            buffers = [pa.py_buffer(python_array(_NUMBERS[type_], given))]
    except (KeyError, OverflowError, TypeError):
        return pa.array(values, type_)
    validity = _bits(np.array([value is not None for value in values])) if nulls else None
    return pa.Array.from_buffers(type_, len(values), [validity, *buffers])


def _text_buffers(
    joined: str | bytes, texts: Sequence[Any], offset_type: npt.DTypeLike
) -> list[pa.Buffer]:
    """Return the offsets and the content of texts. Raises OverflowError."""
    if isinstance(joined, str):
        texts = texts if joined.isascii() else [text.encode() for text in texts]
        joined = joined.encode()
    if len(joined) > np.iinfo(np.dtype(offset_type)).max:
        raise OverflowError
    offsets = np.zeros(len(texts) + 1, offset_type)
    np.cumsum(np.fromiter(map(len, texts), offset_type, len(texts)), out=offsets[1:])
    return [arrow_buffer(offsets), pa.py_buffer(joined)]


def arrow_scalar(value: object, type_: pa.DataType) -> AnyScalar:
    """Return a Python object as an Arrow scalar, see `arrow_list`."""
    return arrow_list([value], type_)[0]


def numpy_numbers(array: AnyArray, null: int = 0) -> npt.NDArray[Any]:
    """Return numbers of Arrow as those of numpy, `null` for nulls; without nulls no copy."""
    dtype, data = array.type.to_pandas_dtype(), array.buffers()[1]
    if data is None:
        return np.full(len(array), null, dtype)
    numbers = from_buffer(data, dtype)[array.offset : array.offset + len(array)]
    return numbers if not array.null_count else np.where(_is_valid(array), numbers, null)


def numpy_flags(array: AnyArray, null: bool = False) -> BoolArray:
    """Return flags of Arrow as those of numpy, `null` for nulls."""
    flags = _unpacked(array.buffers()[1], array)
    return flags if not array.null_count else np.where(_is_valid(array), flags, null)


def _is_valid(array: AnyArray) -> BoolArray:
    return _unpacked(array.buffers()[0], array)


def _bits(flags: BoolArray) -> pa.Buffer:
    return arrow_buffer(np.packbits(flags, bitorder="little"))


def _unpacked(bits: pa.Buffer | None, array: AnyArray) -> BoolArray:
    """Return the flags in a buffer of an array; none are set if it has none."""
    if bits is None:
        return np.zeros(len(array), np.bool_)
    begin, skipped = divmod(array.offset, 8)
    held = from_buffer(bits, np.uint8)[begin:]
    flags = np.unpackbits(held, count=skipped + len(array), bitorder="little")
    return flags[skipped:].view(np.bool_)


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
