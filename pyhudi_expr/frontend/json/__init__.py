"""Predicates as JSON."""
