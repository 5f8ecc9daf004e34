"""Registers the fixtures that start Spark, HiveServer2, the pruning service and an S3 server."""

pytest_plugins = ["devtools.fixtures", "devtools.s3.fixtures"]
