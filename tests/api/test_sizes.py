"""Sizes as people read them."""

import pytest

from pyhudi_expr.api.display import share_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 MB"),
        (1, "0.01 MB"),
        (78_000, "0.08 MB"),
        (6_240_000, "6.2 MB"),
        (163_400_000, "163 MB"),
        (1_230_000_000, "1.2 GB"),
        (5_600_000_000_000, "5.6 TB"),
    ],
)
def test_units_follow_the_size(size, text):
    assert size_text(size) == text


def test_a_share_has_units_where_they_differ():
    assert share_text(78_000, 6_240_000) == "0.08 of 6.2 MB"
    assert share_text(78_000_000, 6_240_000_000) == "78.0 MB of 6.2 GB"
