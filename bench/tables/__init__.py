"""Tables that the benchmarks read."""
