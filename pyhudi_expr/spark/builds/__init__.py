"""Index builds with Spark: create, refresh, catch up, verify."""
