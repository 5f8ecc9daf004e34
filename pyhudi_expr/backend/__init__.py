"""Expressions into what engines read: SQL of each dialect, pyarrow's expressions."""
