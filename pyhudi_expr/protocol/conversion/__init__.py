"""Predicates of the pruning service's protocol."""
