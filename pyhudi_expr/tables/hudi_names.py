"""Names that Hudi gives: configuration, directories, columns, partitions, data files.

The names are those of Hudi's `HoodieTableConfig` and `HoodieWriteConfig`, where it has them.

Base files: `<file id>_<write token>_<instant>.<format>`. Log files: `.<file
id>_<instant>.log.<version>[_<write token>]`, where the instant is the slice's base instant in
layout 1 and the delta commit that wrote the file in layout 2 (Hudi's `FSUtils`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    Int64Array,
    arrow_array,
    arrow_scalar,
    numpy_flags,
    numpy_numbers,
)

# Properties of a table, of `.hoodie/hoodie.properties`.
TABLE_NAME = "hoodie.table.name"
DATABASE_NAME = "hoodie.database.name"
TABLE_TYPE = "hoodie.table.type"
TABLE_VERSION = "hoodie.table.version"
INITIAL_VERSION = "hoodie.table.initial.version"
TIMELINE_LAYOUT_VERSION = "hoodie.timeline.layout.version"
TIMELINE_PATH = "hoodie.timeline.path"
TIMELINE_HISTORY_PATH = "hoodie.timeline.history.path"
ARCHIVE_FOLDER = "hoodie.archivelog.folder"
TIMELINE_TIMEZONE = "hoodie.table.timeline.timezone"
RECORDKEY_FIELDS = "hoodie.table.recordkey.fields"
PARTITION_FIELDS = "hoodie.table.partition.fields"
ORDERING_FIELDS = "hoodie.table.ordering.fields"
PRECOMBINE_FIELD = "hoodie.table.precombine.field"
KEY_GENERATOR_TYPE = "hoodie.table.keygenerator.type"
KEY_GENERATOR_CLASS = "hoodie.table.keygenerator.class"
HIVE_STYLE_PARTITIONING = "hoodie.datasource.write.hive_style_partitioning"
URL_ENCODE_PARTITIONING = "hoodie.datasource.write.partitionpath.urlencode"
DROP_PARTITION_COLUMNS = "hoodie.datasource.write.drop.partition.columns"
POPULATE_META_FIELDS = "hoodie.populate.meta.fields"
RECORD_MERGE_MODE = "hoodie.record.merge.mode"
RECORD_MERGE_STRATEGY_ID = "hoodie.record.merge.strategy.id"
PAYLOAD_CLASS = "hoodie.compaction.payload.class"
PARTIAL_UPDATE_MODE = "hoodie.table.partial.update.mode"
BASE_FILE_FORMAT = "hoodie.table.base.file.format"
CREATE_SCHEMA = "hoodie.table.create.schema"
METADATA_PARTITIONS = "hoodie.table.metadata.partitions"
METADATA_PARTITIONS_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
INDEX_DEFINITIONS_PATH = "hoodie.table.index.defs.path"
TABLE_CHECKSUM = "hoodie.table.checksum"
BOOTSTRAP_BASE_PATH = "hoodie.bootstrap.base.path"

# Options of writers.
WRITE_RECORDKEY_FIELD = "hoodie.datasource.write.recordkey.field"
WRITE_PARTITIONPATH_FIELD = "hoodie.datasource.write.partitionpath.field"
WRITE_PRECOMBINE_FIELD = "hoodie.datasource.write.precombine.field"
WRITE_KEY_GENERATOR_CLASS = "hoodie.datasource.write.keygenerator.class"
WRITE_KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type"
WRITE_TABLE_TYPE = "hoodie.datasource.write.table.type"
WRITE_OPERATION = "hoodie.datasource.write.operation"
WRITE_TABLE_VERSION = "hoodie.write.table.version"
WRITE_AUTO_UPGRADE = "hoodie.write.auto.upgrade"
EMBED_TIMELINE_SERVER = "hoodie.embed.timeline.server"
INDEX_TYPE = "hoodie.index.type"
#: As the connector of Flink calls it.
FLINK_INDEX_TYPE = "index.type"
BUCKET_ENGINE = "hoodie.index.bucket.engine"
BUCKET_NUMBER = "hoodie.bucket.index.num.buckets"
BUCKET_COLUMNS = "hoodie.bucket.index.hash.field"
BUCKET_EXPRESSIONS = "hoodie.bucket.index.partition.expressions"
#: They state what a table does not have in its own properties.
OF_BUCKETS = (
    *(INDEX_TYPE, FLINK_INDEX_TYPE, BUCKET_ENGINE, BUCKET_NUMBER, BUCKET_COLUMNS),
    BUCKET_EXPRESSIONS,
)
METADATA_ENABLE = "hoodie.metadata.enable"
METADATA_COLUMN_STATS_ENABLE = "hoodie.metadata.index.column.stats.enable"
METADATA_COLUMN_STATS_COLUMNS = "hoodie.metadata.index.column.stats.column.list"
METADATA_PARTITION_STATS_ENABLE = "hoodie.metadata.index.partition.stats.enable"
METADATA_BLOOM_FILTER_ENABLE = "hoodie.metadata.index.bloom.filter.enable"
METADATA_SECONDARY_INDEX_ENABLE = "hoodie.metadata.index.secondary.enable"
METADATA_EXPRESSION_INDEX_ENABLE = "hoodie.metadata.index.expression.enable"
METADATA_RECORD_INDEX_ENABLE = "hoodie.metadata.record.index.enable"
METADATA_RECORD_LEVEL_INDEX_ENABLE = "hoodie.metadata.record.level.index.enable"
METADATA_GLOBAL_RECORD_LEVEL_INDEX_ENABLE = "hoodie.metadata.global.record.level.index.enable"


# Directories and files, relative to a table.
HOODIE_DIR = ".hoodie"
#: What consistent hashing says of a partition: `PARTITION/INSTANT.hashing_meta`.
CONSISTENT_HASHING_DIR = f"{HOODIE_DIR}/.bucket_index/consistent_hashing_metadata"
HASHING_SUFFIX = ".hashing_meta"
PROPERTIES_FILE = f"{HOODIE_DIR}/hoodie.properties"
#: The copy of the properties that Hudi keeps while it rewrites them.
PROPERTIES_BACKUP_FILE = f"{PROPERTIES_FILE}.backup"
METADATA_DIR = f"{HOODIE_DIR}/metadata"
SCHEMA_DIR = f"{HOODIE_DIR}/.schema"
#: Where the definitions of indexes are, unless the table's properties say otherwise.
INDEX_DEFINITIONS_FILE = f"{HOODIE_DIR}/.index_defs/index.json"
#: The file that makes a directory a partition; the extension of a data file may follow.
PARTITION_MARKER = ".hoodie_partition_metadata"

# Meta columns.
COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"
META_COLUMNS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)
#: The operation of a row in a changelog. Flink writes it into files where
#: `changelog.enabled` is set; no schema of a commit has it.
OPERATION = "_hoodie_operation"
#: A column of the table's own that marks a row as deleted.
IS_DELETED = "_hoodie_is_deleted"

# Partitions of the metadata table.
FILES = "files"
COLUMN_STATS = "column_stats"
PARTITION_STATS = "partition_stats"
RECORD_INDEX = "record_index"
BLOOM_FILTERS = "bloom_filters"
#: Followed by the name of the index.
SECONDARY_INDEX_PREFIX = "secondary_index_"
EXPRESSION_INDEX_PREFIX = "expr_index_"
#: The type of a secondary index in the index definitions.
SECONDARY_INDEX = "secondary_index"


#: Hudi's `ExternalFilePathUtil`; Apache XTable registers files so.
_EXTERNAL_END = "_hudiext"

_BASE_PARTS = 3
_BASE_END = r"^(?P<instant>[0-9]+)(?:_[^.]*)?\.{format}$"
_BASE_BEGIN = r"[^_]+_[^_]*_"
_LOG = (
    r"^\.(?P<id>[^_]+)_(?P<instant>[0-9]+)\.log\.(?P<version>[0-9]+)"
    r"(?:_[0-9]+-[0-9]+-[0-9]+(?:\.cdc)?)?$"
)
_LOG_PATTERN = re.compile(_LOG.strip("^$"))


@dataclass(frozen=True)
class ParsedNames:
    """Parsed names of one kind of files: each file's row among all files, file id and instant."""

    row: Int64Array
    file_id: AnyArray
    instant: AnyArray
    version: Int64Array
    """The log version; 0 for base files."""


def base_files(names: AnyArray, base_format: str) -> ParsedNames:
    """Parse the base files among the names, in the table's format ("parquet", "orc", "hfile")."""
    parts = pc.split_pattern(names, "_", max_splits=_BASE_PARTS - 1)
    whole = np.flatnonzero(numpy_numbers(pc.list_value_length(parts)) == _BASE_PARTS)
    parts = _only(parts, whole)
    # All files of one write have the same suffix, so few suffixes have to be parsed.
    ends = pc.list_element(parts, arrow_scalar(2, pa.int64())).dictionary_encode()
    (instant,) = pc.extract_regex(ends.dictionary, _end_of_base(base_format)).flatten()
    instants = pa.DictionaryArray.from_arrays(ends.indices, instant).dictionary_decode()
    file_id = pc.list_element(parts, arrow_scalar(0, pa.int64()))
    has_id = numpy_numbers(pc.binary_length(file_id)) > 0
    named = np.flatnonzero(numpy_flags(pc.is_valid(instants)) & has_id)
    version = np.zeros(len(named), np.int64)
    return ParsedNames(whole[named], _only(file_id, named), _only(instants, named), version)


def log_files(names: AnyArray) -> ParsedNames:
    """Parse the log files among the names."""
    found = pc.extract_regex(names, _LOG)
    row = np.flatnonzero(numpy_flags(pc.is_valid(found)))
    file_id, instant, version = found.take(arrow_array(row)).flatten()
    versions = numpy_numbers(pc.cast(version, pa.int64()))
    return ParsedNames(row, file_id, instant, versions)


def external_file(names: AnyArray) -> str | None:
    """Return one of the names that Hudi gives files of other writers; None if none is."""
    rows = np.flatnonzero(numpy_flags(pc.ends_with(names, _EXTERNAL_END)))
    return str(names[rows[0]]) if len(rows) else None


def is_parsed(name: str, base_format: str) -> bool:
    """Return whether `base_files` or `log_files` parses a name: faster, for a few names."""
    return bool(_base_pattern(base_format).fullmatch(name) or _LOG_PATTERN.fullmatch(name))


@cache
def _base_pattern(base_format: str) -> re.Pattern[str]:
    return re.compile(_BASE_BEGIN + _end_of_base(base_format).strip("^$"))


def _end_of_base(base_format: str) -> str:
    return _BASE_END.replace("{format}", re.escape(base_format))


def _only(array: AnyArray, rows: Int64Array) -> AnyArray:
    """Return the array's ascending rows; without a copy if these are all rows."""
    return array if len(rows) == len(array) else array.take(arrow_array(rows))
