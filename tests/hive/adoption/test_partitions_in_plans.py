"""Partitions and their classes in the text of EXPLAIN EXTENDED, as Hive 4.0 prints it."""

from __future__ import annotations

from pyhudi_expr.manage.hive.adoption import PARQUET_SERDE, PartitionFormat, parsed
from pyhudi_expr.manage.hive.metastore_table import FileFormat

PLAN = """\
STAGE PLANS:
  Stage: Stage-0
    Fetch Operator
      limit: -1
      Partition Description:
          Partition
            input format: {one}
            output format: out
            partition values:
              Day 1
              city a b=c, 'd' input format: x
            properties:
              columns id,partition values:
              file.inputformat other
            serde: {serde}

              input format: of.the.Table
              output format: of.the.Table
              properties:
                EXTERNAL TRUE
              serde: of.the.Table
              name: lake.trips
            name: lake.trips
          Partition
            input format: {two}
            output format: out
            partition values:
              Day 2
              city __HIVE_DEFAULT_PARTITION__
            serde: {serde}
            name: lake.trips
      Processor Tree:
        TableScan
          alias: trips
"""


def test_each_partition_is_found_with_its_values_and_its_own_classes() -> None:
    text = PLAN.format(one="One", two="Two", serde=PARQUET_SERDE)
    assert list(parsed(text.split("\n"), ("day", "city"))) == [
        PartitionFormat(
            ("1", "a b=c, 'd' input format: x"), FileFormat("One", "out", PARQUET_SERDE)
        ),
        PartitionFormat(
            ("2", "__HIVE_DEFAULT_PARTITION__"), FileFormat("Two", "out", PARQUET_SERDE)
        ),
    ]


def test_a_partition_whose_values_cannot_be_told_is_left_out() -> None:
    text = PLAN.format(one="One", two="Two", serde=PARQUET_SERDE).replace("city a", "city\na")
    assert [each.values[0] for each in parsed(text.split("\n"), ("day", "city"))] == ["2"]
