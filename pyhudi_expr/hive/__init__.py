"""A Hudi table in Hive, seen from outside: its registration, and whether queries are pruned.

Speaks to HiveServer2 as any client does (PyHive; the extra `hive`); nothing here is asked by the
pruning service.
"""
