"""Clients of the pruning service for other engines."""
