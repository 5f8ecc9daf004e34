"""Record keys of a slice's rows: from `_hoodie_record_key`, or computed for virtual keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, arrow_nulls
from pyhudi_expr.errors import HudiError
from pyhudi_expr.rows.slice_rows import scalar_type
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import virtual_keys
from pyhudi_expr.tables.keys.generators import KeyGenerator
from pyhudi_expr.tables.keys.key_storage import warn_of_stored_keys


@dataclass(frozen=True)
class KeyColumns:
    """The columns of keys, their types in the table, and how keys are computed.

    Attributes:
        generator: None: the only column is the stored key.
        label: The table, for messages.
    """

    columns: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    generator: KeyGenerator | None
    label: str

    @staticmethod
    def of(table: HudiTable) -> KeyColumns:
        """Return the columns of a table's keys. Raises HudiError for unsupported virtual keys."""
        label = table.base_path
        definition = virtual_keys(table.properties, label)
        if definition is None:
            return KeyColumns((RECORD_KEY,), (pa.string(),), None, label)
        warn_of_stored_keys(table)
        schema = table.schema()
        types = tuple(scalar_type(table, schema, column) for column in definition.columns)
        generator = definition.generator()
        # A type that is not supported is reported now, not by the tasks.
        generator.keys([arrow_nulls(0, type_) for type_ in types])
        return KeyColumns(definition.columns, types, generator, label)

    @property
    def are_stored(self) -> bool:
        """Whether the keys are those that Hudi's writers put into files and filters."""
        return self.generator is None

    def keys(self, values: Sequence[AnyArray]) -> AnyArray:
        """Return the keys of a batch of rows.

        Args:
            values: The values of `columns` in the file (of a narrower type than the table, or
                none).

        Raises:
            HudiError: A row has no key.
        """
        try:
            # Keys are formatted by the table's types, which have, for example, one timestamp unit.
            typed = [column.cast(type_) for column, type_ in zip(values, self.types, strict=True)]
        except pa.ArrowInvalid as error:
            raise HudiError(f"{self.label}: keys cannot be made: {error}") from error
        if self.generator is None:
            return typed[0]
        try:
            return self.generator.keys(typed)
        except HudiError as error:
            raise HudiError(f"{self.label}: {error}") from error
