"""Sample Bloom filters as an index would hold them, from the footers or values of some files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.index.lookups.expression_index import Expression
from pyhudi_expr.manage.advice.expression_ranges import evaluate_function
from pyhudi_expr.manage.advice.table_sample import TableSample
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    SIMPLE,
    BloomFilter,
    FilterBuilder,
    of_footer,
    parse,
)

#: Number of files whose whole columns are read, to count their values exactly.
_FILES = 8
_INSTANT = "20240101000000000"


@dataclass(frozen=True)
class FilterSample:
    """Properties of one column's filters, averaged over files.

    Attributes:
        file_bytes: Bytes of one filter in the index.
        text_bytes: Bytes of one filter before compression.
        footer_bytes: Bytes that a writer adds for a file: Hudi's do not compress them, and size
            them by the filters in footers.
        false_positives: Share of other values that a filter does not exclude.
        unfiltered: Share of file slices with log files, which have no filters.
        are_built: Whether they were built from values, as footers have none.
    """

    file_bytes: float
    text_bytes: float
    footer_bytes: float
    false_positives: float
    unfiltered: float
    are_built: bool

    def kept(self, holding: float, files: float, values: int) -> float:
        """Return how many of the files remain if some of them hold one of so many values."""
        mistaken: float = 1.0 - (1.0 - self.false_positives) ** values
        positive = holding + (files - holding) * mistaken
        return self.unfiltered * files + (1.0 - self.unfiltered) * positive


def key_filters(sample_files: TableSample, key: Expression) -> FilterSample:
    """Sample filters of record keys: from the footers, or built from keys if there are none.

    Args:
        sample_files: The sampled files.
        key: A column with as many values as keys, the only one of the record key.

    Raises:
        HudiError: A file cannot be read.
    """
    if not sample_files.table.properties.meta_fields:
        return column_filters(sample_files, key)
    texts = _footer_filters(sample_files)
    if len(texts) < len(_some_paths(sample_files)):
        return column_filters(sample_files, key)
    return _filters(sample_files, texts, are_built=False)


def column_filters(sample_files: TableSample, expression: Expression) -> FilterSample:
    """Sample filters of a column's values, or of a function's results, sized for each file.

    Raises:
        HudiError: A file cannot be read.
    """
    texts = [
        (SIMPLE, _build_filter(values)) for values in _distinct_texts(sample_files, expression)
    ]
    return _filters(sample_files, texts, are_built=True)


def _some_paths(sample_files: TableSample) -> list[str]:
    return list(sample_files.listing.paths(sample_files.some(_FILES)))


def _distinct_texts(sample_files: TableSample, expression: Expression) -> Iterator[AnyArray]:
    for path in _some_paths(sample_files):
        given = evaluate_function(expression, sample_files.whole_column(path, expression.column))
        distinct: AnyArray = given.drop_null().unique()  # type: ignore[assignment]
        yield distinct.cast(pa.string())


def _build_filter(values: AnyArray) -> bytes:
    builder = FilterBuilder(len(values))
    builder.add(ByteStrings.from_arrow(values.cast(pa.large_binary())))
    return builder.text()


def _footer_filters(sample_files: TableSample) -> list[tuple[str, bytes]]:
    found = []
    for path in _some_paths(sample_files):
        with sample_files.table.storage.open_input(path) as source:
            found.append(of_footer(pq.read_metadata(source).metadata))
    return [one for one in found if one is not None]


def _filters(
    sample_files: TableSample, texts: list[tuple[str, bytes]], *, are_built: bool
) -> FilterSample:
    listing = sample_files.listing
    logged = len(np.unique(listing.file_slice[listing.file_is_log]))
    count = max(len(texts), 1)
    written = (_footer_filters(sample_files) if are_built else texts) or texts
    cells = [
        # Keys of entries are the hashes of a partition's and of a file's name.
        (f"{number:048d}".encode(), payloads.bloom_filter(kind, _INSTANT, text))
        for number, (kind, text) in enumerate(texts)
    ]
    frame = hfile_writer.write(BytesIO(), [], "")
    return FilterSample(
        file_bytes=(hfile_writer.write(BytesIO(), cells, "") - frame) / count,
        text_bytes=sum(len(text) for _, text in texts) / count,
        footer_bytes=sum(len(text) for _, text in written) / max(len(written), 1),
        false_positives=sum(_false_positives(parse(*one)) for one in texts) / count,
        unfiltered=logged / max(listing.num_slices, 1),
        are_built=are_built,
    )


def _false_positives(bloom: BloomFilter) -> float:
    """Return the rate by how full a filter is: with more keys than planned it excludes less."""
    passed = 1.0
    for row in bloom.rows:
        filled = float(np.unpackbits(row).sum()) / bloom.bits
        passed *= 1.0 - filled**bloom.hashes
    return 1.0 - passed
