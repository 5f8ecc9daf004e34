"""Operations that change a table or its registration, by one protocol (`operations`).

*Plan* says what will be written, replaced and removed, and is what a dry run prints; *check* is
what must hold before; *act* changes the table in steps, each of which may be the last one; *verify*
is what must hold afterwards, by the files and not by the plan; the outcome is the *report*. Where a
check or a verification fails, all is as before, or the error says what is not.

What must hold after each operation:

1. The rows that Spark reads are the same. Rewritten slices are read again by Hudi's reader, and
   compared row for row, before the rewriting is committed (`spark.clustering.rows_digest`).
2. Each row has its stored key, or the table's properties say that keys are made
   (`manage.invariants`; `audit` checks the same).
3. Hudi's next upsert, delete, compaction and clustering work.
4. An index that answered before answers afterwards, or the report says which one does not
   (`invariants.stopped_indexes`).
5. Nothing below the table is removed that the plan does not name.

These operations write below a table's base path, or change a registration. Each is a class of the
module that is named first; there is no other way to do it:

================================  ==================================================================
operation                         where
================================  ==================================================================
virtual-keys enable               `manage.virtual_keys`
virtual-keys rewrite              `manage.virtual_keys`, `spark.virtual_keys.rewriting`
virtual-keys disable              `manage.virtual_keys`, `spark.virtual_keys.rewriting`
layout cluster, OPTIMIZE          `manage.laying_out`, `spark.clustering.clustering`
index create                      `manage.building`, `spark.builds`
index refresh                     `manage.building`, `spark.builds`
index follow                      `manage.building`, `spark.builds`
index verify --certify            `manage.certifying`, `spark.builds.certifying`
index drop                        `manage.dropping`
audit --repair                    `manage.audit.remedies`
hive register                     `manage.hive.registering`
hive unregister                   `manage.hive.registering`
hive adopt                        `manage.hive.adopting`; with --undo, too
snapshot                          `manage.publishing`, in another place
what dead processes left          `manage.indexing.leftovers`, before each of `index`
================================  ==================================================================
"""
