"""Predicates of Trino and Presto."""
