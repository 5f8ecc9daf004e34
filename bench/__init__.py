"""The benchmarks: `python -m bench [NAMES]` measures and keeps the figures in `results.json`.

Each module with a function under `@benchmark` is one; `bench.measuring` says what a figure is.
"""
