"""Changes of the metadata table: partitions, bootstrap, asynchronous indexing."""
