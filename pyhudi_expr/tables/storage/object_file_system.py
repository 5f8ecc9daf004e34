"""Remote files as a file system of pyarrow, for datasets: they are opened by range reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    from pyhudi_expr.tables.storage.entries import Backend, FileEntry


class ObjectFileSystem(fs.FileSystemHandler):
    """pyarrow's interface to the files of a backend. Reading only: `Storage` writes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFileSystem) and other._backend == self._backend

    def __hash__(self) -> int:
        return hash(self._backend)

    def __reduce__(self) -> tuple[type[ObjectFileSystem], tuple[Backend]]:
        return ObjectFileSystem, (self._backend,)

    def get_type_name(self) -> str:
        """Return the name in pyarrow's messages."""
        return "object-store"

    def normalize_path(self, path: str) -> str:
        """Return the path as it is: no character of it has a meaning."""
        return path

    def get_file_info(self, paths: str | list[str]) -> list[fs.FileInfo]:
        """Return what is there of each path."""
        wanted = [paths] if isinstance(paths, str) else paths
        return [_info(path, self._backend.stat(path)) for path in wanted]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Return the entries of a directory."""
        found = self._backend.list(selector.base_dir, selector.recursive)
        return [_info(entry.path, entry) for entry in found]

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for random access."""
        return self._backend.open_input(path, None)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file to read it from its start."""
        return self._backend.open_input(path, None)

    def create_dir(self, path: str, recursive: bool) -> None:
        """Do nothing: there are no directories."""

    def delete_dir(self, path: str) -> Any:  # noqa: ANN401, D102 - see _refuse
        return _refuse()

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def delete_root_dir_contents(self) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def delete_file(self, path: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def move(self, src: str, dest: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def copy_file(self, src: str, dest: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def open_append_stream(self, path: str, metadata: Any) -> Any:  # noqa: ANN401, D102
        return _refuse()


def _refuse() -> None:
    raise NotImplementedError("this file system is for reading; write through Storage")


def _info(path: str, entry: FileEntry | None) -> fs.FileInfo:
    if entry is None:
        return fs.FileInfo(path, fs.FileType.NotFound)
    if not entry.is_file:
        return fs.FileInfo(path, fs.FileType.Directory)
    return fs.FileInfo(path, fs.FileType.File, size=entry.size, mtime_ns=entry.modified_ns)
