"""Every parser of table files as a function of bytes, and by which errors it may refuse them."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.statistics.stored_bounds import FooterColumns
from pyhudi_expr.tables.mdt.avro_columns import decode_columns
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile.blocks import DamagedIndexError, inner_index, root_index
from pyhudi_expr.tables.mdt.hfile.cells import DamagedBlockError
from pyhudi_expr.tables.mdt.hfile.cells import parse as parse_cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogFile
from pyhudi_expr.tables.mdt.records import bloom_filter, metadata_records
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError
from pyhudi_expr.tables.parquet.footer import parse_footer
from pyhudi_expr.tables.parquet.page_index import read_locations, read_statistics
from pyhudi_expr.tables.parquet.value_sets import BloomHeader, read_dictionary
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError
from pyhudi_expr.tables.parsing.budget import parse_json, spending_as_a_question
from pyhudi_expr.tables.properties import parse_properties
from pyhudi_expr.tables.schema import arrow_schema
from pyhudi_expr.tables.slices.log_rows import read_log
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline import CommitMetadata

#: The file's name in errors.
FILE = "the file"
#: Inputs that fuzzers begin with: an archive for each parser, and for the kernel.
CORPUS = Path(__file__).parents[1] / "data" / "fuzzing"


@dataclass(frozen=True)
class Parser:
    """A parser of a kind of file, or of a part of one.

    Attributes:
        parse: Takes any bytes.
        refusals: What it may raise.
    """

    parse: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]


def _hfile(content: bytes) -> None:
    hfile = HFile(pa.BufferReader(content), len(content), FILE)
    schema, cells = hfile.schema, list(hfile.scan())
    for some in cells:
        metadata_records.decode(schema, some.values, FILE)
        hfile.lookup(some.keys[:3])
        hfile.prefix([key[:1] for key in some.keys[:3]])


def _log(content: bytes) -> None:
    log = LogFile(pa.BufferReader(content), len(content), FILE)
    for block in log.blocks:
        if block.kind is BlockKind.DELETE:
            log.deleted_keys(block)
        elif block.kind is BlockKind.HFILE:
            _hfile(log.content(block))


_ROWS = tempfile.TemporaryDirectory(prefix="fuzzing-")


def _log_of_rows(content: bytes) -> None:
    Path(_ROWS.name, "t.log").write_bytes(content)
    read_log(Storage.open(_ROWS.name), ["t.log"], frozenset(), lambda _: ("id", "name", "amount"))


def _metadata_record(content: bytes) -> None:
    metadata_records.decode(RECORD_SCHEMA, [content], FILE)


def _metadata_columns(content: bytes) -> None:
    half = len(content) // 2
    decode_columns(RECORD_SCHEMA, ByteStrings.of([content[:half], content[half:]]))


def _parquet_footer(content: bytes) -> None:
    footer = parse_footer(content, 1 << 30)
    columns = FooterColumns.of(footer.metadata)
    for group in range(len(footer.group_rows)):
        for column in columns.positions.values():
            footer.places(group, column)
            chunk = footer.metadata.row_group(group).column(column)
            statistics = chunk.statistics
            if statistics is not None and statistics.has_min_max:
                assert statistics.min_raw is not None
                assert statistics.max_raw is not None


PARSERS: Mapping[str, Parser] = {
    "commit": Parser(lambda content: CommitMetadata.parse(content, FILE), (HudiError,)),
    "json": Parser(lambda content: parse_json(content, FILE), (HudiError,)),
    "properties": Parser(parse_properties, (ValueError,)),
    "schema": Parser(lambda content: arrow_schema(content.decode("latin-1")), (HudiError,)),
    "log": Parser(_log, (HudiError,)),
    "log_of_rows": Parser(_log_of_rows, (HudiError,)),
    "hfile": Parser(_hfile, (HudiError,)),
    "cells": Parser(lambda content: parse_cells([content]), (DamagedBlockError,)),
    "root_index": Parser(lambda content: root_index(content, 3), (DamagedIndexError,)),
    "inner_index": Parser(inner_index, (DamagedIndexError,)),
    "metadata_record": Parser(_metadata_record, (HudiError,)),
    "metadata_columns": Parser(_metadata_columns, (UndecodedError,)),
    "bloom_filter": Parser(
        lambda content: bloom_filter.parse(bloom_filter.DYNAMIC, base64.b64encode(content)),
        (bloom_filter.UnreadableFilterError,),
    ),
    "parquet_footer": Parser(_parquet_footer, (ValueError, pa.ArrowException, OSError)),
    "column_index": Parser(lambda content: read_statistics(content, 3), (NotParquetError,)),
    "offset_index": Parser(
        lambda content: read_locations(content, 1 << 20, (0, 1 << 40)), (NotParquetError,)
    ),
    "dictionary": Parser(lambda content: read_dictionary(content, 1), (NotParquetError,)),
    "bloom_header": Parser(lambda content: BloomHeader.read(content, 0), (NotParquetError,)),
}


def tried(name: str, content: bytes) -> None:
    """Parse bytes as a question to the service does. What is raised is a defect."""
    parser = PARSERS[name]
    with spending_as_a_question(), contextlib.suppress(*parser.refusals):
        parser.parse(content)
