"""Restore stored keys: rewrite every row with its key, by one insert overwrite of Hudi's.

Hudi does not let writers enable meta fields for a table without them, so the property is changed
first. Until the commit this package's readers still compute the keys (the settings of virtual keys
are removed last), and after a failure the command can be repeated. No writer may run in the
meantime: it would look for stored keys that are not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from pyhudi_expr.indexing.virtual_key_settings import check_restorable, disable, lacks_keys
from pyhudi_expr.keys.definition import RESTORING
from pyhudi_expr.keys.key_storage import KeyStorage, key_storage
from pyhudi_expr.spark.virtual_keys.writing import service_options
from pyhudi_expr.table import config_keys, properties_writer
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import META_COLUMNS
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock


def restore(spark: SparkSession, path: str, lock_wait: float = 60.0) -> None:
    """Write the keys of a table with virtual keys, and remove the settings. Raises HudiError."""
    table = HudiTable.open(path)
    check_restorable(table)
    lock = TableLock.of(table.storage, wait=lock_wait)
    storage = key_storage(table)
    if lacks_keys(table, storage):
        _require_no_logs(table, storage)
        _rewrite(spark, path, lock)
    disable(HudiTable.open(path), lock)


def _require_no_logs(table: HudiTable, storage: KeyStorage) -> None:
    """Raise HudiError if there are log files, which Hudi would merge by missing keys."""
    if storage.log_files:
        raise HudiError(
            f"{table.base_path}: {storage.log_files} log files have to be merged first: run Hudi's "
            "compaction (CALL run_compaction) or clustering, then try again"
        )


def _rewrite(spark: SparkSession, path: str, lock: TableLock) -> None:
    # Hudi's tasks read the properties, too: so all rows are read before they change.
    _update(lock, {config_keys.POPULATE_META_FIELDS: "false"})
    rows = spark.read.format("hudi").load(path).drop(*META_COLUMNS).localCheckpoint()
    _update(lock, {config_keys.POPULATE_META_FIELDS: "true", RESTORING: "true"})
    writer = rows.write.format("hudi").options(**service_options(path))
    writer = writer.option(config_keys.WRITE_OPERATION, "insert_overwrite_table")
    writer.mode("append").save(path)


def _update(lock: TableLock, changes: Mapping[str, str | None]) -> None:
    with lock.held("virtual keys") as lease:
        lease.check()
        properties_writer.update(lock.storage, changes)
