"""Predicates of pyarrow, and of programs that hold Python values."""
