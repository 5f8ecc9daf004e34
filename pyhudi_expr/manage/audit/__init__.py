"""Audit a table's metadata: every partition of its metadata table against the files.

Findings are facts, not suspicions: each was computed from the table's own files or their footers.
What cannot be checked is said (`Audit.unchecked`), and is no finding. Nothing is changed.

What is read: the timelines, the metadata tables, the listing of the storage, and footers of base
files. Rows are read where a footer does not say enough: of record and secondary indexes (their
columns), of slices with log files, of floats if the writer's footers leave NaN out, of texts whose
footers have no bounds, and of Bloom filters that differ from the footer's.
"""
