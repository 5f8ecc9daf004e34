"""Tables by their names in a Hive metastore, or in AWS Glue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyhudi_expr.api.arguments import location
from pyhudi_expr.api.functions import table
from pyhudi_expr.api.table import Table
from pyhudi_expr.errors import InvalidType, InvalidValue, UnsupportedTable
from pyhudi_expr.manage.hive.adoption import OURS_FOR
from pyhudi_expr.manage.hive.metastore_table import INPUT_FORMATS, STORAGE_HANDLER
from pyhudi_expr.manage.hive.registration import METADATA_VIEW
from pyhudi_expr.tables.glue import GlueClient, is_glue
from pyhudi_expr.tables.metastore import MetastoreClient, NamedTable
from pyhudi_expr.tables.properties import TableProperties, TableType
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.user_settings import user_setting

_NAME = re.compile(r"(\w+)\.(\w+)")
_READ_OPTIMIZED = "hoodie.query.as.ro.table"
_BASE_FILES = INPUT_FORMATS[0]
"""It reads no log files."""


def load_table(
    name: str,
    *,
    metastore: str | None = None,
    storage_options: Mapping[str, object] | None = None,
    footers: bool = False,
    progress: bool = True,
) -> Table:
    """Open a Hudi table by its name in a Hive metastore, or in AWS Glue.

    Args:
        name: `database.table`, as Hudi's sync, `pyhudi hive register` or `CREATE TABLE ... USING
            hudi` has registered it.
        metastore: Addresses of metastores, `thrift://host:9083,...`; the first that can be reached
            is asked (Hive 2.3 and later, without logins or TLS). `glue`, or `glue://eu-west-1` of
            another region than AWS's settings name, for AWS Glue (the extra `glue`). None: that of
            the environment variable PYHUDI_METASTORE, or of `metastore` in
            ~/.config/pyhudi/config.toml.
        storage_options: As of `table`. The table's properties in the metastore are its
            `catalog_properties`.
        footers: As of `table`.
        progress: As of `table`.

    Raises:
        TableNotFound: There is no table of this name, or no Hudi table at its location.
        UnsupportedTable: It is no Hudi table, or a view of one.
        HudiError: The metastore or the storage cannot be read, or an argument is wrong.
    """
    found = _found(name, metastore)
    opened = table(
        _location(found),
        storage_options=storage_options,
        footers=footers,
        progress=progress,
        catalog_properties=found.properties,
    )
    if _has_base_files_only(found) and opened.table_type == TableType.MERGE_ON_READ.value:
        raise _read_optimized(found, opened.uri)
    return opened


def table_uri(name: str, metastore: str | None = None) -> str:
    """Return where the table is that `load_table` opens; of it at most the properties are read.

    Raises:
        HudiError: As `load_table` does; a table that is not there may be left to the caller.
    """
    found = _found(name, metastore)
    uri = location(_location(found))
    if _has_base_files_only(found):
        properties = TableProperties.read(Storage.open(uri))
        if properties.table_type is TableType.MERGE_ON_READ:
            raise _read_optimized(found, uri)
    return uri


def _found(name: str, metastore: str | None) -> NamedTable:
    parts = _NAME.fullmatch(name) if isinstance(name, str) else None
    if parts is None:
        raise InvalidValue(f"name: expected database.table, such as 'sales.trips', got {name!r}")
    with _asked(metastore) as client:
        return client.table(*parts.groups())


def list_tables(database: str, *, metastore: str | None = None) -> list[str]:
    """Return the names of the Hudi tables of a database, sorted.

    Of a merge-on-read table that Hudi has synced, these are the name with `_rt` or none, and that
    with `_ro`, its read-optimized view.

    Args:
        database: Its name. There is nothing in a database that does not exist.
        metastore: As of `load_table`.

    Raises:
        HudiError: The metastore does not answer, or an argument is wrong.
    """
    if not isinstance(database, str):
        raise InvalidType(f"database: expected a str, got {type(database).__name__}")
    with _asked(metastore) as client:
        return sorted(one.name for one in client.tables(database) if _is_hudi(one))


@contextmanager
def _asked(metastore: str | None) -> Iterator[MetastoreClient | GlueClient]:
    uris = metastore or user_setting("metastore")
    if not uris:
        raise InvalidValue(
            "metastore: expected the addresses of a Hive metastore, such as thrift://host:9083, or "
            "glue; or PYHUDI_METASTORE in the environment, or metastore in "
            "~/.config/pyhudi/config.toml"
        )
    client = GlueClient(uris) if is_glue(uris) else MetastoreClient(uris)
    try:
        yield client
    finally:
        client.close()


def _location(found: NamedTable) -> str:
    if METADATA_VIEW in found.properties:
        raise UnsupportedTable(
            f"{found.name} describes a Hudi table ({METADATA_VIEW}="
            f"{found.properties[METADATA_VIEW]}); name the table itself"
        )
    if not found.location or not _is_hudi(found):
        raise UnsupportedTable(f"{found.name} is no Hudi table: {found.input_format or 'a view'}")
    return found.location


def _has_base_files_only(found: NamedTable) -> bool:
    """Return whether engines read base files only by this name."""
    reader = found.input_format or ""
    is_view = found.properties.get(_READ_OPTIMIZED) == "true"
    return is_view or OURS_FOR.get(reader, reader) == _BASE_FILES


def _read_optimized(found: NamedTable, uri: str) -> UnsupportedTable:
    return UnsupportedTable(
        f"{found.name} is the read-optimized view of {uri}; open the table by its other name or"
        " this location, and ask with view='read_optimized'"
    )


def _is_hudi(found: NamedTable) -> bool:
    """Whether Hudi's readers or ours are registered for it, and it has rows of its own."""
    properties, reader = found.properties, found.input_format or ""
    return METADATA_VIEW not in properties and (
        properties.get("spark.sql.sources.provider", "").lower() == "hudi"
        or properties.get("storage_handler") == STORAGE_HANDLER
        or reader in INPUT_FORMATS
        or reader.startswith(("org.apache.hudi.hadoop.", "com.uber.hoodie.hadoop."))
    )
