"""Predicates of pyarrow and Polars, and of programs with Python values."""
