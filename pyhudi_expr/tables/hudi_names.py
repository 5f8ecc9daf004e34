"""Names that Hudi gives to directories, columns, and partitions of its metadata table."""

from __future__ import annotations

# Directories and files, relative to a table.
HOODIE_DIR = ".hoodie"
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
