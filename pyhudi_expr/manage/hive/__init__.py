"""Hudi tables in Hive, from outside: registration, and checks whether queries are pruned.

It speaks to HiveServer2 as a client (PyHive; the extra `hive`). The pruning service does not use
it.
"""
