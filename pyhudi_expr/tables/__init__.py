"""A Hudi table: properties, timelines, schemas and file slices.

Start at `hudi_table.HudiTable.open`. Imports nothing above it.
"""
