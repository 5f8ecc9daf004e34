"""Records of a metadata table as they are stored: keys, and values that are still Avro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.avro.columns import decode_columns
from pyhudi_expr.tables.mdt.avro.schema import Struct
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile.cells import Cells, concat_cells
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, decode
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError


@dataclass(frozen=True)
class EncodedRecords:
    """Cells of one file whose values are still Avro, written with `schema` (JSON)."""

    file: str
    schema: str
    cells: Cells

    @staticmethod
    def none() -> EncodedRecords:
        """Return no records, of no file."""
        return EncodedRecords("", '"null"', Cells())

    def decoded(self) -> list[Payload]:
        """Decode the values, which must not be changed. Raises CorruptFile."""
        return self._decoded

    @computed_once
    def _decoded(self) -> list[Payload]:
        return decode(self.schema, self.cells.values, self.file)

    def columns(self, selected: frozenset[str] | None = None) -> Struct:
        """Decode the values by columns, see `mdt.avro.columns`. Raises CorruptFile."""
        try:
            return decode_columns(self.schema, self.cells.value_strings, selected)
        except UndecodedError as error:
            raise CorruptFile(self.file, f"a record cannot be decoded: {error}") from error

    def split(self, keys: ByteStrings) -> tuple[EncodedRecords, EncodedRecords]:
        """Return the records without those of the keys (sorted), and those."""
        if not len(keys):
            return self, EncodedRecords.none()
        chosen = keys.search(self.cells.key_strings) >= 0
        if not chosen.any():
            return self, EncodedRecords.none()
        own = (self.file, self.schema)
        return (
            EncodedRecords(*own, self.cells.take(~chosen)),
            EncodedRecords(*own, self.cells.take(chosen)),
        )


def apart(
    answers: Sequence[EncodedRecords | list[bytes]],
) -> tuple[list[EncodedRecords], list[EncodedRecords | list[bytes]]]:
    """Return the records whose keys occur once in records and deleted keys, and what is left."""
    own = [_keys_of(answer) for answer in answers]
    counted = pc.value_counts(concat_byte_strings([ByteStrings.none(), *own]).array())
    again = pc.greater(counted.field("counts"), 1)
    repeated = ByteStrings.from_arrow(counted.field("values").filter(again)).sorted()
    alone: list[EncodedRecords] = []
    left: list[EncodedRecords | list[bytes]] = []
    for answer in answers:
        if isinstance(answer, EncodedRecords):
            single, answer = answer.split(repeated)
            if len(single.cells):
                alone.append(single)
        left.append(answer)
    return joined_by_schema(alone), left


def _keys_of(answer: EncodedRecords | list[bytes]) -> ByteStrings:
    return ByteStrings.of(answer) if isinstance(answer, list) else answer.cells.key_strings


def joined_by_schema(parts: Sequence[EncodedRecords]) -> list[EncodedRecords]:
    """Return the same records in one part for each schema: decoding a part takes its time.

    Errors then name all files of a part.
    """
    by_schema: dict[str, list[EncodedRecords]] = {}
    for part in parts:
        by_schema.setdefault(part.schema, []).append(part)
    return [
        EncodedRecords(
            ", ".join(dict.fromkeys(part.file for part in own)),
            schema,
            concat_cells([part.cells for part in own]),
        )
        for schema, own in by_schema.items()
    ]
