"""The statements of Spark's session extension: run in the session that parsed them."""
