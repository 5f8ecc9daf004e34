"""Files of a storage that are replaced only if nobody else has changed them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pyhudi_expr.table.storage import Storage


class Versioned(Protocol):
    """A file's content, and what names this content in `replace`."""

    @property
    def content(self) -> bytes:
        """The whole content."""

    @property
    def version(self) -> str:
        """The version, such as an ETag."""


@runtime_checkable
class ConditionalFiles(Protocol):
    """What a storage with conditional writes offers, see `Storage`."""

    @property
    def uri(self) -> str:
        """As the user gave it."""

    @property
    def has_conditional_writes(self) -> bool:
        """Whether the storage offers them indeed."""

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists; return False if it does."""

    def read_versioned(self, path: str) -> Versioned | None:
        """Read a file; None if it does not exist."""

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Replace a version; return the new one, None if that is not the version any more."""


def conditional_files(storage: Storage) -> ConditionalFiles | None:
    """Return the storage if it has conditional writes."""
    if isinstance(storage, ConditionalFiles) and storage.has_conditional_writes:
        return storage
    return None
