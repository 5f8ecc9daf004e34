"""The choices of the engines where SQL leaves room, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.nodes import CharType
from tests.expr.oracle_values import FunctionOptions


@dataclass(frozen=True)
class Engine:
    """One reading of what SQL leaves open.

    nan_is_greatest: NaN equals NaN and is above all; otherwise a comparison with NaN is FALSE.
    numbers: how a float is compared with a number of another type: as "double", as the "common"
    type
        (float32 if no double takes part), or "exact".
    narrows: a literal becomes float32 before the comparison with a float32 column.
    lists: IN and BETWEEN convert all their operands to one common type.
    hashed_in: IN compares options by their bits, so -0.0 is not in (0.0).
    text_in: IN compares dates and times with text options as text.
    overflow: integers "wrap", or become "null".
    dates: a date column is compared with a timestamp literal as "timestamp" or as "date".
    hybrid_calendar: days before 1582-10-15 keep their Julian label.
    wall_clock: instants are shown, and compared, as the zone's wall clock.
    char: a char is compared with a string with "both" sides stripped of trailing spaces, with the
    char
        "itself" stripped, or with the shorter side "padded".
    """

    name: str
    nan_is_greatest: bool
    numbers: str
    narrows: bool = False
    lists: bool = False
    hashed_in: bool = False
    text_in: bool = False
    overflow: str = "wrap"
    dates: str = "timestamp"
    hybrid_calendar: bool = False
    wall_clock: bool = False
    char: str = "both"

    def function_options(self, table: Table) -> FunctionOptions:
        """How the engine computes functions."""
        return FunctionOptions(
            table.zone,
            units=self.hashed_in,
            turkish=self.lists,
            keeps_last_day=self.wall_clock,
            skips_nulls=self.text_in,
            wraps=self.overflow == "wrap",
            from_wall=self.wall_clock,
        )


ENGINES = (
    Engine("Hive, vectorised", False, "double", wall_clock=True, hybrid_calendar=True),
    Engine(
        "Hive, row by row",
        True,
        "common",
        lists=True,
        hashed_in=True,
        wall_clock=True,
        char="itself",
    ),
    Engine("Spark", True, "common", lists=True, text_in=True, char="padded"),
    Engine("exact", False, "exact", narrows=True, overflow="null", dates="date"),
)


@dataclass(frozen=True)
class Table:
    """The meaning of a row's values. types: the stored type of each dotted column name."""

    types: Mapping[str, pa.DataType]
    zone: str | None = None


class UndefinedError(Exception):
    """The engines do not agree on a value, so a row may have any."""


@dataclass(frozen=True)
class Value:
    value: Any
    type: pa.DataType | CharType
    stored: bool = False  # a column's own value, as opposed to a literal or a result


def bits_of(type_: pa.DataType) -> int:
    return int(type_.bit_width)


def is_integer_of(operand: Value) -> bool:
    return not isinstance(operand.type, CharType) and pa.types.is_integer(operand.type)


def fits_of(text: str, type_: pa.DataType) -> bool:
    """Whether engines read the text as an integer of the type alike."""
    limit = 2 ** (type_.bit_width - 1)
    return bool(re.fullmatch(r"0|-?[1-9]\d{0,14}", text)) and -limit <= int(text) < limit


def is_number(operand: Value) -> bool:
    if isinstance(operand.type, CharType):
        return False
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(operand.type) for test in tests)


def is_text(operand: Value) -> bool:
    return isinstance(operand.type, CharType) or pa.types.is_string(operand.type)


def is_temporal(operand: Value) -> bool:
    if isinstance(operand.type, CharType):
        return False
    return bool(pa.types.is_date(operand.type) or pa.types.is_timestamp(operand.type))
