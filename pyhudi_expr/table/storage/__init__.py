"""A table's files, on local disks, on HDFS and in object stores.

`Storage` is the interface; `file_system` and `object_store` are its two backends.
"""

from pyhudi_expr.table.storage.entries import FileEntry, VersionedFile
from pyhudi_expr.table.storage.file_system import is_unfinished
from pyhudi_expr.table.storage.storage import Storage, set_storage_options

__all__ = ["FileEntry", "Storage", "VersionedFile", "is_unfinished", "set_storage_options"]
