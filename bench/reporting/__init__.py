"""Figures of the benchmarks, and their place in the documentation."""
