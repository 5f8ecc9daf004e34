"""Arrays between numpy, Python and Arrow: as pyarrow makes them, but without pandas."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.arrays import arrow_array, arrow_list, arrow_scalar, numpy_flags, numpy_numbers

_INT64 = st.integers(-(2**63), 2**63 - 1)
_VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(),
    pa.large_string(): st.text("aé€\U0001f600"),
    pa.binary(): st.binary(),
    pa.large_binary(): st.binary() | st.text(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): _INT64,
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2),
}


@given(st.data())
def test_python_objects_become_what_pyarrow_makes_of_them(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from([*_VALUES]))
    values = data.draw(st.lists(st.none() | _VALUES[type_], max_size=20))
    made = arrow_list(values, type_)
    made.validate(full=True)
    assert str(made) == str(pa.array(values, type_))  # NaN equals itself there
    assert made.null_count == values.count(None)


@pytest.mark.parametrize(
    ("values", "type_"),
    [(["1"], pa.int64()), ([2**63], pa.int64()), ([1], pa.string())],
)
def test_other_objects_get_the_errors_of_pyarrow(values: list[Any], type_: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)) as expected:
        pa.array(values, type_)
    with pytest.raises(expected.type) as got:
        arrow_list(values, type_)
    assert str(got.value) == str(expected.value)


@given(st.lists(st.none() | _INT64, max_size=30), st.integers(0, 20))
def test_numbers_and_flags_come_back_from_any_part_of_an_array(
    values: list[int | None], start: int
) -> None:
    array = arrow_list(values, pa.int64())[start:]
    wanted = values[start:]
    assert numpy_numbers(array, -1).tolist() == [-1 if v is None else v for v in wanted]
    flags = pa.array([None if v is None else v > 0 for v in values], pa.bool_())[start:]
    assert numpy_flags(flags, True).tolist() == [v is None or v > 0 for v in wanted]
    assert numpy_flags(flags.is_valid()).tolist() == [v is not None for v in wanted]


@given(st.lists(st.tuples(_INT64, st.booleans()), max_size=20))
def test_numpy_arrays_become_what_pyarrow_makes_of_them(rows: list[tuple[int, bool]]) -> None:
    numbers = np.array([number for number, _ in rows], np.int64)
    mask = np.array([flag for _, flag in rows], np.bool_)
    for values in (numbers, numbers[::-1], numbers.astype(np.uint8), mask):
        assert arrow_array(values) == pa.array(values)
    assert arrow_array(numbers, mask) == pa.array(numbers, mask=mask)


def test_no_way_imports_pandas() -> None:
    program = f"""
import sys
import numpy as np, pyarrow as pa
from pyhudi_expr.arrays import *
for type_, value in ((pa.string(), "a"), (pa.binary(), b"a"), (pa.int64(), 1), (pa.float64(), 1.0)):
    arrow_list([None, value], type_), {arrow_scalar.__name__}(value, type_)
flags = arrow_array(np.array([True, False]), np.array([True, False]))
numpy_flags(flags), numpy_numbers(arrow_array(np.arange(3)))
print("pandas" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("False\n", "")
