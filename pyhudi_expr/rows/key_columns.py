"""Record keys of a slice's rows: stored or computed; files with rows without keys are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray, arrow_nulls
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import null_key_message, virtual_keys
from pyhudi_expr.tables.keys.generators import KeyGenerator, MissingKey
from pyhudi_expr.tables.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.tables.slices.slice_rows import scalar_type


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


def require_keys(
    files: Sequence[ds.ParquetFileFragment], columns: Sequence[str], label: str
) -> None:
    """Refuse files in whose rows one of the columns is null; their footers were read already.

    Footers without numbers of nulls pass.

    Raises:
        MissingKey: A column is null in a row; the message begins with `label`.
    """
    for column in columns:
        found = [file.path for file in files if _has_nulls(file.metadata, column)]
        if found:
            raise MissingKey(null_key_message(label, column, found))


def _has_nulls(footer: pq.FileMetaData, column: str) -> bool:
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    if column not in paths:
        return False  # written before the column was added: reported where keys are made
    number = paths.index(column)
    chunks = (footer.row_group(group).column(number) for group in range(footer.num_row_groups))
    return any(
        chunk.statistics is not None
        and chunk.statistics.has_null_count  # type: ignore[attr-defined]
        and bool(chunk.statistics.null_count)
        for chunk in chunks
    )
