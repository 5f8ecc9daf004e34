"""`bloom_filters`: each base file's filter against the file.

A filter that is the one in the file's footer was written with the file. Only for another one the
file's keys are read, and each is looked up in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.audit.findings import Fault, Finding, Severity
from pyhudi_expr.manage.audit.scope import BOTH, HUDI_ONLY, MOST, AuditedRecords
from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    BloomFilter,
    HashedKeys,
    UnreadableFilterError,
    of_footer,
    parse,
)
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
from pyhudi_expr.tables.slices.slice_rows import parquet_columns, parquet_file

_THREADS = 4
_FILES_AT_ONCE = 256
_EXAMPLES = 3

Keys = Callable[[pq.ParquetFile, str], Iterator[AnyArray]]
"""What a filter of a file has to hold: texts, in batches."""


@dataclass(frozen=True)
class FilterTruth:
    """What filters of a metadata partition hold.

    Attributes:
        partition: The metadata partition.
        keys: The texts of a file.
        may_be_of_footer: Whether the filter in a file's footer is right.
        queries: Which queries look them up.
    """

    partition: str
    keys: Keys
    may_be_of_footer: bool
    queries: str


def record_key_filters(table: HudiTable) -> FilterTruth:
    """Return what filters of record keys hold. Raises HudiError for keys that are not supported."""
    keys = KeyColumns.of(table)

    def of_file(file: pq.ParquetFile, label: str) -> Iterator[AnyArray]:
        for columns in parquet_columns(file, keys.columns, label):
            yield keys.keys(columns).cast(pa.large_binary())

    queries = "those by record key; Hudi's upserts by the Bloom index write a second row"
    return FilterTruth(BLOOM_FILTERS, of_file, keys.are_stored, queries)


def check_filters(
    records: AuditedRecords,
    table: HudiTable,
    truth: FilterTruth,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Finding]:
    """Return what is wrong with the filters of the checked base files.

    Raises:
        HudiError: The partition cannot be read.
    """
    files = records.bases
    keys = [bloom_filter_key(*each) for each in zip(files.partitions, files.names, strict=True)]
    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(files), _FILES_AT_ONCE):
            some = range(start, min(start + _FILES_AT_ONCE, len(files)))
            looked_up = records.records.lookup(truth.partition, [keys[at] for at in some])
            found = dict(zip(looked_up.keys, looked_up.payloads, strict=True))

            def examine(at: int, found: Mapping[str, Payload] = found) -> Finding | None:
                return _examined(records, table, truth, files.paths[at], found.get(keys[at]))

            yield from islice((one for one in pool.map(examine, some) if one is not None), MOST)
            advance(len(some))


def _examined(
    records: AuditedRecords,
    table: HudiTable,
    truth: FilterTruth,
    path: str,
    payload: Payload | None,
) -> Finding | None:
    if payload is None:
        return records.finding(
            truth.partition,
            Fault.ENTRY_MISSING,
            Severity.SLOWER,
            path,
            expected="a filter",
            found="none",
            queries=f"{truth.queries.partition(';')[0]} read the file",
        )
    content = payload["BloomFilterMetadata"]
    kind, text = content["type"], content["bloomFilter"]
    try:
        bloom = parse(kind, text)
    except UnreadableFilterError as error:
        return records.finding(
            truth.partition,
            Fault.FILTER_UNREADABLE,
            Severity.QUERY_FAILS,
            path,
            expected="a filter",
            found=str(error),
            queries="upserts by Hudi's Bloom index; queries read the file",
        )
    lacking = _lacking(table, truth, path, (kind, text), bloom)
    if not lacking:
        return None
    return records.finding(
        truth.partition,
        Fault.FILTER_LACKS_KEYS,
        Severity.ROWS_LOST,
        path,
        subject=", ".join(repr(key.decode(errors="replace")) for key in lacking[:_EXAMPLES]),
        expected="a filter that holds every key of the file",
        found=f"{len(lacking)} keys are not in it",
        queries=truth.queries,
        # An empty filter is no evidence here.
        readers=HUDI_ONLY if bloom.is_empty else BOTH,
    )


def _lacking(
    table: HudiTable, truth: FilterTruth, path: str, stored: tuple[str, bytes], bloom: BloomFilter
) -> list[bytes]:
    """Return the keys of a file that its filter excludes."""
    label = f"{table.base_path}/{path}"
    lacking: list[bytes] = []
    try:
        with parquet_file(table.storage, path) as file:
            if truth.may_be_of_footer and of_footer(file.metadata.metadata) == stored:
                return []
            for texts in truth.keys(file, label):
                keys = ByteStrings.from_arrow(texts)
                lacking += keys.take(~bloom.may_hold(HashedKeys(keys))).to_list()
    except HudiError:
        return []  # a damaged file is reported once, with its footer
    return lacking
