"""Spark jobs: batches of work, sorted HFiles and log files from executors."""
