"""Run real Spark, HiveServer2 and the pruning service on one machine.

The demo, the tests and the benchmarks share these modules; the installed package does not contain
them. `make runtime handler venv` builds what they start.
"""
