"""The reverse mapping of the extension's indexes: the record keys and values of each file slice.

When a slice is replaced, the entries of its rows have to be deleted, and the slice's own files may
be gone by then. So keys and values are stored beside the index, in one file for each slice and
index, under `.hoodie/pyhudi/reverse/<index>/`: Arrow IPC, one text column, rows sorted by record
key. RFC-77 leaves such a mapping open; Hudi scans its index instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import xxhash

from pyhudi_expr.arrays import READ_ERRORS, AnyArray
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.hudi_names import HOODIE_DIR
from pyhudi_expr.tables.storage import Storage

if TYPE_CHECKING:  # dropping an index needs no Spark
    from pyhudi_expr.tables.slices.slice_files import FileSlice

REVERSE_DIR = f"{HOODIE_DIR}/pyhudi/reverse"

# Follows the name of a log file in its token.
_LENGTH = re.compile(r"@[0-9]+$")
_COLUMN = "text"
_SUFFIX = ".arrow"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True)
class ReverseMapping:
    """The reverse mappings of one table. Small; it is sent to Spark's tasks.

    Attributes:
        base_uri: The table's base path.
    """

    base_uri: str

    def write(self, index: str, slice_name: str, texts: AnyArray) -> None:
        """Write the keys or values of a slice, sorted by record key.

        Raises:
            HudiError: The file cannot be written.
        """
        table = pa.table({_COLUMN: texts.cast(pa.large_string())})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema, options=_OPTIONS) as writer:
            writer.write_table(table)
        self._storage.write(_path(index, slice_name), bytes(sink.getvalue().to_pybytes()))

    def read(self, index: str, slice_name: str) -> AnyArray:
        """Read the keys or values of a slice.

        Raises:
            HudiError: The file cannot be read.
        """
        path = _path(index, slice_name)
        content = self._storage.read(path)
        try:
            column = pa.ipc.open_file(content).read_all().column(_COLUMN)
        except (KeyError, *READ_ERRORS) as error:
            raise CorruptFile(f"{self.base_uri}/{path}", f"no reverse mapping: {error}") from error
        return column.combine_chunks()

    def forget(self, index: str, slice_names: Sequence[str]) -> None:
        """Delete the files of slices that the index does not cover any more."""
        for name in slice_names:
            self._storage.delete(_path(index, name))

    def forget_others(self, index: str, slice_names: Collection[str]) -> None:
        """Delete the files of all other slices, which failed refreshes left behind."""
        for entry in self._storage.list(f"{REVERSE_DIR}/{index}", recursive=True):
            if entry.is_file and entry.name.removesuffix(_SUFFIX) not in slice_names:
                self._storage.delete(entry.path)

    def drop(self, index: str) -> None:
        """Delete all files of the index."""
        self._storage.delete_dir(f"{REVERSE_DIR}/{index}")

    @property
    def _storage(self) -> Storage:
        return Storage.open(self.base_uri)


def slice_name(one: FileSlice) -> str:
    """Return a name for a slice with exactly these files."""
    return _hashed([one.partition, *filter(None, [one.base]), *one.logs])


def covered_slice_name(identity: str) -> str:
    """Return the same name from the slice's identity in `mdt.extension`.

    The identity includes the lengths of log files.
    """
    partition, *files = identity.split("\n")
    return _hashed([partition, *(_LENGTH.sub("", name) for name in files)])


def _hashed(names: Sequence[str]) -> str:
    return xxhash.xxh3_128_hexdigest("\n".join(names).encode())


def _path(index: str, slice_name: str) -> str:
    return f"{REVERSE_DIR}/{index}/{slice_name[:2]}/{slice_name}{_SUFFIX}"
