"""What the benchmarks measured, and its place in the documentation."""
