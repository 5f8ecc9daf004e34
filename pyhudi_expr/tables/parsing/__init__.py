"""What the bytes of a table's files may cost, and parsers that keep to it."""
