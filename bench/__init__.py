"""The benchmarks: `python -m bench [NAMES]` stores the figures in `reporting/results.json`.

Each function under `@benchmark` is one; `bench.reporting.measuring` defines a figure.
"""
