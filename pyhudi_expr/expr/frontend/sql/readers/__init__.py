"""The sqlglot dialects, corrected where they differ from the engines."""
