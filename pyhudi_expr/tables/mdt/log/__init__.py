"""Log files of the metadata table: reading, writing, and valid blocks."""
