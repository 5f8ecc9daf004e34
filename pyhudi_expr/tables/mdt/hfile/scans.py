"""Scans of an HFile as values, so that their results can be compared and cached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile


@dataclass(frozen=True)
class PrefixScan:
    """`HFile.prefix_scan`."""

    prefixes: tuple[bytes, ...]

    def __call__(self, hfile: HFile) -> Iterator[Cells]:
        """Return the pieces of the result."""
        return hfile.prefix_scan(self.prefixes)


@dataclass(frozen=True)
class KeyLookup:
    """`HFile.lookup` of keys (sorted), as a scan of one piece."""

    keys: ByteStrings

    def __call__(self, hfile: HFile) -> Iterator[Cells]:
        """Return the result."""
        yield hfile.lookup(self.keys.to_list())
