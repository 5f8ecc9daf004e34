"""The synthetic table of 100,000 files in PyIceberg's form.

It has the same metadata as our table: partitions by day, and for each file the minimum and maximum
of the same columns. `pip install 'pyhudi-expr[bench]'` installs PyIceberg.
"""

import shutil
from pathlib import Path

from bench.planning import NAME
from bench.tables import synthetic
from devtools.runtime import WORK

FILES, PARTITIONS = 100_000, 100
WAREHOUSE = WORK / "bench" / f"iceberg-{FILES}"
_COLUMNS = ("id", "spread", "amount", "code")


def ensure_written() -> None:
    """Write the table in PyIceberg's form, unless the current code has written it."""
    marker = WAREHOUSE / "written-by"
    source = "".join(Path(str(f)).read_text() for f in (__file__, synthetic.__file__))
    if not marker.is_file() or marker.read_text() != source:
        shutil.rmtree(WAREHOUSE, ignore_errors=True)
        WAREHOUSE.mkdir(parents=True)
        _write()
        marker.write_text(source)


def _write() -> None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.conversions import to_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.typedef import Record
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType

    types = (LongType(), LongType(), DoubleType(), StringType())
    fields = [
        NestedField(number, name, kind, required=False)
        for number, (name, kind) in enumerate(zip(_COLUMNS, types, strict=True), start=1)
    ]
    location = {"uri": f"sqlite:///{WAREHOUSE}/catalog.db", "warehouse": f"file://{WAREHOUSE}"}
    catalog = SqlCatalog("bench", **location)
    catalog.create_namespace("bench")
    day = NestedField(len(fields) + 1, "day", StringType(), required=False)
    by_day = PartitionField(day.field_id, 1000, IdentityTransform(), day.name)
    table = catalog.create_table(NAME, Schema(*fields, day), partition_spec=PartitionSpec(by_day))
    numbers = range(1, len(_COLUMNS) + 1)
    described = list(zip(numbers, types, synthetic.columns_of(FILES, 0), strict=True))
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for k in range(FILES):
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/{k}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(f"day-{k * PARTITIONS // FILES:03d}"),
                record_count=synthetic.ROWS_PER_FILE,
                file_size_in_bytes=8_000_000,
                value_counts=dict.fromkeys(numbers, synthetic.ROWS_PER_FILE),
                null_value_counts=dict.fromkeys(numbers, 0),
                lower_bounds={n: to_bytes(t, c.minimum[k]) for n, t, c in described},
                upper_bounds={n: to_bytes(t, c.maximum[k]) for n, t, c in described},
            )
            file.spec_id = table.metadata.default_spec_id
            append.append_data_file(file)
