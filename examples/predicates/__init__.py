"""Predicates as engines write them in JSON: tuple domains of Trino and Presto, row expressions."""
