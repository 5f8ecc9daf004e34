"""Check which tables can be read from their files, without Hudi's own reader."""

from __future__ import annotations

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.tables import config_keys
from pyhudi_expr.tables.hudi_table import HudiTable


def check_supported(table: HudiTable) -> None:
    """Check that a table's rows follow from its files alone.

    Raises:
        UnsupportedTable: They do not.
    """
    properties = table.properties
    for applies, reason in (
        (properties.base_file_format != "PARQUET", "its base files are not Parquet files"),
        (properties.drop_partition_columns, "its partition columns are kept in paths only"),
        (config_keys.BOOTSTRAP_BASE_PATH in properties.raw, "it was made by bootstrap"),
    ):
        if applies:
            raise UnsupportedTable(f"{table.base_path} cannot be read by its files: {reason}")
