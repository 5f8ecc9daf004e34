"""Read rows of whole tables without a query engine."""
