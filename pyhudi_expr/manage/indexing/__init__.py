"""Statements about indexes, from text to a build plan. Needs no PySpark."""
