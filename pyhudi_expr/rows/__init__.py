"""Read rows: of file slices as queries see them, and of whole tables without a query engine."""
