"""The metadata table's bytes: HFiles, log blocks, Avro records, keys and the merged reader.

Start at `reader.MetadataTable.open`. Imports `table` and nothing above it.
"""
