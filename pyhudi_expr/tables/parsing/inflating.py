"""Decompression within limits."""

from __future__ import annotations

import zlib

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing.budget import check_inflated_size, inflated_at_most

#: Forms of deflated bytes, as zlib numbers them.
RAW, GZIP = -zlib.MAX_WBITS, zlib.MAX_WBITS | 16


def inflate(content: bytes, form: int, file: str) -> bytes:
    """Decompress deflated bytes of a file, RAW or GZIP.

    Raises:
        CorruptFile: They are damaged, or take more than a question may spend (OverBudgetError).
    """
    inflater = zlib.decompressobj(form)
    most = inflated_at_most(len(content))
    try:
        plain = inflater.decompress(content, most + 1)
    except zlib.error as error:
        raise CorruptFile(file, f"cannot be decompressed: {error}") from error
    check_inflated_size(file, len(content), len(plain))
    if not inflater.eof:
        raise CorruptFile(file, "cannot be decompressed: the compressed bytes end early")
    return plain
