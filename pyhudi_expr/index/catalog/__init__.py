"""Which indexes a table has: registry, status and sizes."""
