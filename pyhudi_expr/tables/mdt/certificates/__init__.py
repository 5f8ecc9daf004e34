"""Certificates: what was found out once about all entries of an index of places.

A record index is trusted about a file group if as many entries name it as it has rows; a secondary
index, if besides each of the group's keys has exactly one value (`index.lookups.record_index` and
`index.lookups.secondary_index` have the proofs). Both need all entries. A certificate holds the
result: for a record index the number of entries that name each file group, for a secondary index
the groups with a key that has no value or several. For a slice that neither accounts for it holds
sums of digests: a slice whose rows have the same sum has just the entries of the index there
(`index.lookups.slice_proofs`). So a query reads the certificate, and of the
index only the blocks of the keys or values that it looks up.

A certificate is about one *state* of the index: certain base files, and certain blocks of log files
(`states`). For a state with more log blocks it is extended (`extending`): only the keys in the
added blocks can have changed, so the counts are corrected by where they were and where they are.
For any other state (a compaction, a rollback of a block, an index that was built anew) it says
nothing, and the entries are read again (`certificates`, `pairing`).

An entry that is damaged later in a base file of the same name and length is not noticed, as with
every file of a table. What a certificate says is compared with the rows of the files that a query
sees, so an entry that was wrong when it was counted keeps its file group.
"""
