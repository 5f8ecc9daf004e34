"""Predicates of Spark."""
