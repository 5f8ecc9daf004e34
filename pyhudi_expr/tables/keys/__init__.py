"""Virtual record keys: keys that are not stored, computed from a row's columns.

A table with virtual keys leaves `_hoodie_record_key` empty; a key generator computes a row's key
from its own columns. `definition` says which one (saved in `hoodie.properties`), `generators`
computes the keys of Arrow batches byte for byte as Hudi's writers do, with values as Java writes
them.

A generator is any object with `keys(columns)`, so that a custom class can be used:

>>> import pyarrow.compute as pc
>>> from pyhudi_expr.tables.keys.generators import register
>>> class HostKeys:
...     def __init__(self, columns): ...
...     def keys(self, columns): return pc.binary_join_element_wise(*columns, "/")
>>> register("hosts", HostKeys)
"""
