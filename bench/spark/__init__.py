"""Plain Spark SQL with our extension, and with Hudi alone."""
