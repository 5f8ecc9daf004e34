"""Byte strings, keys and hashes of the metadata table, with the compiled kernel."""
