"""Servers of Presto and Trino with the example plugins."""
