"""Record keys of a slice's rows: from `_hoodie_record_key`, or spelled anew for virtual keys.

Spelled as Hudi's key generators do: one field by its value, several as `a:value,b:value`; a null is
`__null__` and an empty text `__empty__`, where there are several. Only values of types that all
writers spell alike: texts, integers, booleans (dates are days for some and `yyyy-MM-dd` for
others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.spark.slice_rows import scalar_type
from pyhudi_expr.table.errors import HudiError, UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable

RECORD_KEY = "_hoodie_record_key"
_NULL, _EMPTY = "__null__", "__empty__"
#: Generators whose only key field is named in the key, too.
_NAMING = ("COMPLEX", "CUSTOM")


@dataclass(frozen=True)
class KeyColumns:
    """The columns that keys are made of, and how. shown: the table, for messages."""

    columns: tuple[str, ...]
    are_named: bool
    shown: str

    @staticmethod
    def of(table: HudiTable) -> KeyColumns:
        """Raises HudiError for virtual keys that cannot be spelled."""
        if table.properties.meta_fields:
            return KeyColumns((RECORD_KEY,), False, table.base_path)
        fields = table.properties.record_key_fields
        if not fields:
            raise UnsupportedTable(f"{table.base_path}: the table has no record key")
        schema = table.schema()
        for field in fields:
            type_ = scalar_type(table, schema, field)
            plain = pa.types.is_string(type_) or pa.types.is_integer(type_)
            if not (plain or pa.types.is_boolean(type_)):
                raise UnsupportedTable(
                    f"{table.base_path}: keys of column {field!r} of type {type_} are spelled in "
                    "several ways, so they cannot be recomputed; write the table with meta fields"
                )
        generator = table.properties.key_generator.rpartition(".")[2].upper()
        named = len(fields) > 1 or generator.startswith(_NAMING)
        return KeyColumns(fields, named, table.base_path)

    def keys(self, values: Sequence[pa.Array]) -> pa.Array:
        """The keys of a batch of rows; values: of `columns`. Raises HudiError."""
        texts = [pc.cast(column, pa.string()) for column in values]
        if not self.are_named:
            (keys,) = texts
            if keys.null_count:
                raise HudiError(f"{self.shown}: rows without a key ({self.columns[0]} is null)")
            return keys
        named = [
            pc.binary_join_element_wise(f"{name}:", _filled(text), "")
            for name, text in zip(self.columns, texts, strict=True)
        ]
        return pc.binary_join_element_wise(*named, ",")


def _filled(texts: pa.Array) -> pa.Array:
    present = pc.fill_null(texts, _NULL)
    return pc.if_else(pc.equal(present, ""), _EMPTY, present)
