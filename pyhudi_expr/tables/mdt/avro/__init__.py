"""Avro records, decoded column by column."""
