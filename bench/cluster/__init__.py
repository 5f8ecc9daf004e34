"""Hive on a Hadoop cluster."""
