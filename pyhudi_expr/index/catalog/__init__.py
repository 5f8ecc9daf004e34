"""The indexes of a table: registry, status and sizes."""
