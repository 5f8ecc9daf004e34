"""The benchmarks: `python -m bench [NAMES]` keeps the figures in `reporting.results.json`.

Each module with a function under `@benchmark` is one; `bench.reporting.measuring` says what a
figure is.
"""
