"""What runs the project on one machine: real Spark, HiveServer2 and pruning service processes.

The demo, the tests and the benchmarks share it; it is not part of the package that is installed.
`make runtime handler venv` builds what it starts.
"""
