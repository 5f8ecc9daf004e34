"""The columns of decoded Avro records, and the parsing of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy.typing as npt

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.parsing.avro_schemas import (
    AvroSchema,
    UndecodedError,
    named_types,
    refuse_empty,
)
from pyhudi_expr.tables.parsing.json_texts import parse_json


@dataclass(frozen=True)
class Numbers:
    """Integers (int64), floats (float64) or booleans, one for each row."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Texts:
    """Strings (as UTF-8) or bytes, one for each row."""

    values: ByteStrings


@dataclass(frozen=True)
class Struct:
    """A record: its fields by name, all with the same rows."""

    fields: dict[str, Column]


@dataclass(frozen=True)
class Branch:
    """The rows of a union that took one branch, ascending, and their values.

    Attributes:
        name: The branch's type; for a record its name without namespace.
    """

    name: str
    rows: Int64Array
    column: Column


@dataclass(frozen=True)
class Union:
    """A union: its branches that occur, without nulls.

    Attributes:
        size: The number of rows.
    """

    size: int
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class Entries:
    """Maps: all entries of all rows, ascending by row; entry i belongs to row `rows[i]`."""

    rows: Int64Array
    key: Texts
    value: Column


@dataclass(frozen=True)
class Skipped:
    """Arrays, which are skipped."""


Column: TypeAlias = Numbers | Texts | Struct | Union | Entries | Skipped | None
"""None: nulls only."""


@lru_cache(maxsize=64)
def parsed(schema: str) -> tuple[AvroSchema, Mapping[str, Any]]:
    """Return the schema, and its named types by their names without namespace.

    Raises:
        UndecodedError: It is no schema, or a few bytes may hold any number of values.
    """
    try:
        root = parse_json(schema, "an Avro schema")
        refuse_empty(root)
        return root, named_types(root)
    except (CorruptFile, KeyError, TypeError, RecursionError) as error:
        raise UndecodedError(f"no Avro schema: {error!r}") from error
