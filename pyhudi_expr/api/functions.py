"""The functions of the package: open a table, or scan one at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from pyhudi_expr.api import DEFAULT_DIALECT, DEFAULT_VIEW, DEFAULT_ZONE, FOOTER_WAIT_SECONDS
from pyhudi_expr.api.arguments import (
    Dialect,
    Instant,
    PathLike,
    Predicate,
    View,
    Zone,
    location,
    stated_buckets,
    storage_texts,
)
from pyhudi_expr.api.table import Table
from pyhudi_expr.errors import InvalidType
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.hudi_table import HudiTable

if TYPE_CHECKING:
    from pyhudi_expr.api.scan import Scan
    from pyhudi_expr.rows.scan import Progress
    from pyhudi_expr.rows.sorting import Order


def table(
    path: PathLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    footers: bool = False,
    progress: bool = True,
    catalog_properties: Mapping[str, str] | None = None,
) -> Table:
    """Open a Hudi table.

    Args:
        path: A path, or a URI such as `s3://lake/trips`, `gs://`, `abfss://`, `oss://`, `hdfs://`
            or `webhdfs://host:port/path`.
        storage_options: Credentials, endpoints and other settings of the storage, such as
            `{"endpoint": "http://minio:9000", "access_key_id": "reader", ...}`. Without them the
            environment's are used. No error shows their values.
        footers: Read the Parquet footers of all files that the table's metadata has no statistics
            of, however many they are. Otherwise a question reads footers for some seconds, and the
            next ones go on.
        progress: Show a bar in shells and notebooks while something takes long.
        catalog_properties: The table's properties in a catalog, or options of its writers, by
            Hudi's names. Those of a bucket index are used, which the table itself does not have:
            `hoodie.index.type`, `hoodie.bucket.index.num.buckets`,
            `hoodie.bucket.index.hash.field`, `hoodie.index.bucket.engine`.

    Raises:
        TableNotFound: There is no Hudi table.
        UnsupportedTable: The table's version is not supported.
        HudiError: The storage cannot be read, or an argument is wrong.
    """
    uri, options = location(path), storage_texts(storage_options)
    buckets = stated_buckets(catalog_properties)
    for name, flag in (("footers", footers), ("progress", progress)):
        if not isinstance(flag, bool):
            raise InvalidType(f"{name}: expected a bool, got {type(flag).__name__}")
    pruner = Pruner(PruneOptions(footers=footers, footer_wait=FOOTER_WAIT_SECONDS), options)
    return Table(uri, pruner, progress, HudiTable.open(uri, options), buckets)


def scan(
    table: PathLike,
    filter: Predicate | None = None,
    columns: Iterable[str] | None = None,
    as_of: Instant | None = None,
    *,
    view: View = DEFAULT_VIEW,
    dialect: Dialect = DEFAULT_DIALECT,
    zone: Zone = DEFAULT_ZONE,
    limit: int | None = None,
    order_by: Order | None = None,
    progress: Callable[[Progress], None] | None = None,
    meta: bool = False,
    pruner: Pruner | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> Scan:
    """Scan a table for the rows that match a filter: `table(path).scan(filter, columns, as_of)`.

    Args:
        table: The path or URI.
        filter: The predicate; None for all rows.
        columns: Top-level columns. None: all but Hudi's own.
        as_of: An instant for time travel, see `Table`.
        view: "snapshot" or "read_optimized".
        dialect: "hive", "spark", "trino" or "presto".
        zone: The IANA time zone of the filter's times without zone.
        limit: The maximum number of rows.
        order_by: The order of the rows, see `Table.scan`.
        progress: Called after each batch.
        meta: Whether Hudi's own columns (`_hoodie_...`) come first, besides the others.
        pruner: A `pyhudi_expr.index.prune.Pruner` with other options, or that has the table in
            its cache.
        storage_options: Settings of the table's storage, see `table`. A `pruner` has its own.

    Raises:
        HudiError: The table or the filter cannot be read, or an argument is wrong.
    """
    uri, options = location(table), storage_texts(storage_options)
    found = Table(uri, pruner or Pruner(storage_options=options))
    return found.scan(
        filter,
        columns,
        as_of,
        limit,
        view=view,
        dialect=dialect,
        zone=zone,
        order_by=order_by,
        progress=progress,
        meta=meta,
    )
