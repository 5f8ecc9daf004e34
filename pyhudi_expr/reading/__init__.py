"""Rows of file slices, merged as queries see them, and whole tables without a query engine."""
