"""Benchmarks of limits and orders."""
