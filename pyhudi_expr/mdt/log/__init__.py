"""Log files of the metadata table: reading, writing, and which blocks count."""
