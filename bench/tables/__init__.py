"""Tables of the benchmarks."""
