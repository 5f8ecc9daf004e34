"""What a table consists of, as tables: its files, history, indexes and ranges of columns."""
