"""Marks of single cases."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def long(*values: Any) -> ParameterSet:
    """A case of parametrize, or of a fixture (one value), for `make test-long` only: it takes its
    time, and differs little from one that `make test` runs.
    """
    return pytest.param(*values, marks=pytest.mark.long)
