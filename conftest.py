"""Registers the fixtures that start Spark, HiveServer2 and the pruning service."""

pytest_plugins = ["devtools.fixtures"]
