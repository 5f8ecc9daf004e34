"""The space saved without `_hoodie_record_key`, on a table whose keys are UUIDs.

Hudi writes the table with meta fields, then `virtual-keys rewrite` writes it without them.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator

from bench.reporting.measuring import Measurement, benchmark, seconds
from devtools.runtime import WORK
from devtools.spark import spark_session
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.virtual_keys.rewriting import rewrite
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import KeyStorage, key_storage
from pyhudi_expr.tables.locks import TableLock

_ROOT = WORK / "bench" / "virtual-keys"
_ROWS, _FILES = 300_000, 4
_COMMIT_BYTES = 1 << 30

Figure = tuple[str, float, str]


@benchmark("virtual-keys")
def virtual_keys() -> Iterator[Measurement]:
    """Bytes of 300,000 keys of 36 characters, stored and left out."""
    # A separate process releases Spark's memory.
    command = [sys.executable, "-m", "bench.virtual_keys"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for name, value, unit in json.loads(done.stdout.splitlines()[-1]):
        yield Measurement(f"virtual-keys: {name}", value, unit)


def _figures() -> Iterator[Figure]:
    shutil.rmtree(_ROOT, ignore_errors=True)
    with spark_session("virtual-keys") as spark:
        frame = spark.range(0, _ROWS, 1, _FILES).selectExpr(
            "uuid() AS id",
            "timestamp_seconds(1700000000 + id) AS ts",
            "concat('city ', id % 1000) AS city",
            "cast(rand(1) * 1000 as decimal(10, 2)) AS fare",
        )
        options = {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.operation": "bulk_insert",
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.metadata.record.index.enable": "false",
            "hoodie.clean.automatic": "false",
        }
        frame.write.format("hudi").options(**options).save(str(_ROOT))
        before = key_storage(HudiTable.open(str(_ROOT)))
        yield "rows", before.rows, "rows"
        yield from _told("stored", before)
        yield "a stored key", before.bytes_to_save / before.rows, "bytes"
        table = HudiTable.open(str(_ROOT))
        enable(table, VirtualKeySettings(), TableLock(table.storage))
        took = seconds(lambda: rewrite(spark, str(_ROOT), None, _COMMIT_BYTES, _ignore_progress))
        yield "rewriting the table", took, "s"
        after = key_storage(HudiTable.open(str(_ROOT)))
        yield from _told("left out", after)
        saved = before.bytes - after.bytes
        yield "key column, saved as `report` tells it", after.bytes_saved / 1e6, "MB"
        yield "base files, saved", saved / 1e6, "MB"
        yield "base files, saved of each row", saved / before.rows, "bytes"
        yield "base files, saved of all", 100 * saved / before.bytes, "%"


def _told(how: str, storage: KeyStorage) -> Iterator[Figure]:
    yield f"base files, keys {how}", storage.bytes / 1e6, "MB"
    yield f"key column, keys {how}", storage.bytes_to_save / 1e6, "MB"


def _ignore_progress(_done: int, _of: int) -> None:
    """Ignore the progress."""


if __name__ == "__main__":
    print(json.dumps(list(_figures())))
