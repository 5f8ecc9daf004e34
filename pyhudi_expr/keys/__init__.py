"""Record keys that are not on the disk: what they are made of, and spelling them anew.

A table with virtual keys leaves `_hoodie_record_key` empty; a row's key is made of its own columns
by a key generator. `definition` says which (saved in `hoodie.properties`), `generators` spells the
keys of Arrow batches byte for byte as Hudi's writers do, `java_text` how Java writes values.

A generator is whatever has `keys(columns)`, so that a user's own class will do:

>>> class HostKeys:
...     def __init__(self, columns): ...
...     def keys(self, columns): return pc.binary_join_element_wise(*columns, "/")
>>> register("hosts", HostKeys)
"""
