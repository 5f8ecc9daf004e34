"""Values of secondary indexes of our own: equal values have one text, which queries ask for."""

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.bound import BoundLiteral
from pyhudi_expr.expr.domains import domain_of, float_ordinal
from pyhudi_expr.index.secondary_index import own_literal_text
from pyhudi_expr.spark.entries.secondary_index import spelled
from pyhudi_expr.table.errors import HudiError
from tests.chance import examples


def texts(values: list[Any], type_: pa.DataType) -> list[str | None]:
    return list(spelled(pa.array(values, type_), type_, "c").to_pylist())


def asked(value: Any, type_: pa.DataType) -> str:
    """The text that a query for the value looks up."""
    domain = domain_of(type_)
    assert domain is not None
    physical = value if isinstance(value, bytes) else float_ordinal(value)
    found = own_literal_text(BoundLiteral(physical, physical, domain), domain)
    assert found is not None
    return found.decode()


@pytest.mark.parametrize(("type_", "width"), [(pa.float64(), 64), (pa.float32(), 32)])
def test_floats_that_are_equal_have_one_text(type_: pa.DataType, width: int) -> None:
    @settings(max_examples=examples(300))
    @given(st.lists(st.floats(width=width), min_size=2, max_size=6))
    def check(values: list[float]) -> None:
        found = texts([*values, None], type_)
        assert found.pop() is None
        assert found == [asked(value, type_) for value in values]
        for one, text in zip(values, found, strict=True):
            for other, others in zip(values, found, strict=True):
                alike = one == other or (math.isnan(one) and math.isnan(other))
                assert (text == others) == alike

    check()


def test_zeros_are_one_and_so_are_all_that_are_no_numbers() -> None:
    nans = [
        struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8 << 48, 0xFFF9 << 48)
    ]
    zero, minus_zero, *undefined = texts([0.0, -0.0, *nans], pa.float64())
    assert zero == minus_zero
    assert len({*undefined}) == 1
    assert zero not in undefined


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6))
def test_bytes_have_the_text_that_is_asked_for(values: list[bytes]) -> None:
    found = texts([*values, None], pa.binary())
    assert found.pop() is None
    assert found == [asked(value, pa.binary()) for value in values]
    assert len({*found}) == len({*values})


def test_floats_of_another_width_have_no_text() -> None:
    """Engines widen them in two ways: by their value, and by their decimal digits."""
    narrow = pa.array(np.array([0.1], np.float32))
    with pytest.raises(HudiError, match="type float cannot have a secondary index"):
        spelled(narrow, pa.float64(), "c")
