"""TPC-DS and TPC-H in Hive: `python -m bench.tpc tpcds|tpch` (`make tpcds`, `make tpch`).

DuckDB generates the data and knows the rows of each query. The tables are written as Hudi tables
(copy on write; the facts also merge on read, with updates in log files) and as plain Parquet. Hive
runs the queries with pruning on and off, and on the plain files as the control.
"""
