"""A table's files, on local disks, on HDFS and in object stores.

`Storage` is the interface; `file_system` and `object_store` are its two backends.
"""

from pyhudi_expr.tables.storage.entries import (
    Announced,
    Expected,
    FileEntry,
    ManyRanges,
    RandomAccess,
    VersionedFile,
)
from pyhudi_expr.tables.storage.file_system import is_unfinished
from pyhudi_expr.tables.storage.process_options import (
    OPTIONS_VARIABLE,
    block_options,
    joined_options,
    option_texts,
    parse_options,
    process_options,
    set_storage_options,
    using_storage_options,
)
from pyhudi_expr.tables.storage.storage import Storage

__all__ = [
    "OPTIONS_VARIABLE",
    "Announced",
    "Expected",
    "FileEntry",
    "ManyRanges",
    "RandomAccess",
    "Storage",
    "VersionedFile",
    "block_options",
    "is_unfinished",
    "joined_options",
    "option_texts",
    "parse_options",
    "process_options",
    "set_storage_options",
    "using_storage_options",
]
