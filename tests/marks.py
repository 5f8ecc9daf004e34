"""Marks of single cases."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def long(*values: Any) -> ParameterSet:
    """A case of parametrize, or of a fixture (one value), that only `make test-long` runs: it is
    slow, and similar to a case that `make test` runs.
    """
    return pytest.param(*values, marks=pytest.mark.long)
