"""The metadata table's formats: HFiles, log blocks, Avro records, keys and the merged reader.

Start at `store.metadata_table.MetadataTable.open`. Imports `table` and nothing above it.
"""
