"""Predicates of pyarrow, and of programs with Python values."""
