"""Where tables are, by AWS Glue's catalog; what it says is what a Hive metastore says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.installation import require_extra
from pyhudi_expr.tables.metastore import NamedTable

_SCHEME = "glue"
_MISSING = "EntityNotFoundException"


def is_glue(address: str) -> bool:
    """Return whether an address is `glue` or `glue://REGION`."""
    return address.partition("://")[0].strip().lower() == _SCHEME


class GlueClient:
    """A client of the catalog of an account and a region, with AWS's usual credentials."""

    def __init__(self, address: str) -> None:
        """Prepare the client; no request is made.

        Args:
            address: `glue://REGION`. Without a region that of AWS_REGION, AWS_DEFAULT_REGION or
                AWS's profile counts. AWS_ENDPOINT_URL_GLUE is another server than AWS's.

        Raises:
            HudiError: The package is missing, or there is no region.
        """
        with require_extra("glue"):
            import botocore.exceptions
            import botocore.session
            from botocore.config import Config
        self._address = address
        self._refused = botocore.exceptions.ClientError
        self._errors = (botocore.exceptions.BotoCoreError, self._refused, ValueError)
        region = address.partition("://")[2].strip("/ ") or os.environ.get("AWS_REGION")
        # AWS_ENDPOINT_URL is often that of S3 alone.
        config = Config(retries={"mode": "standard"}, ignore_configured_endpoint_urls=True)
        with self._explained("CreateClient"):
            self._client: Any = botocore.session.Session().create_client(
                "glue",
                region_name=region,
                endpoint_url=os.environ.get("AWS_ENDPOINT_URL_GLUE"),
                config=config,
            )

    def table(self, database: str, table: str) -> NamedTable:
        """Return what is known of a table.

        Raises:
            TableNotFound: The catalog has none of the name.
            HudiError: It does not answer.
        """
        with self._explained("GetTable"):
            try:
                found = self._client.get_table(DatabaseName=database, Name=table)["Table"]
            except self._refused as error:
                if _code(error) != _MISSING:
                    raise
                raise TableNotFound(f"{self._address} has no {database}.{table}") from error
        return _described(found)

    def tables(self, database: str) -> Sequence[NamedTable]:
        """Return what is known of the tables of a database; nothing if there is none.

        Raises:
            HudiError: The catalog does not answer.
        """
        with self._explained("GetTables"):
            pages = self._client.get_paginator("get_tables").paginate(DatabaseName=database)
            try:
                return [_described(found) for page in pages for found in page["TableList"]]
            except self._refused as error:
                if _code(error) != _MISSING:
                    raise
                return []

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def _explained(self, request: str) -> Iterator[None]:
        """Raise HudiError for botocore's errors."""
        try:
            yield
        except self._errors as error:
            raise HudiError(
                f"{self._address}: the request {request} fails: {error}; check AWS's region and "
                "credentials, and that they allow glue:GetTable and glue:GetTables"
            ) from error


def _code(error: Any) -> str:  # noqa: ANN401 - botocore has no types
    return str(error.response.get("Error", {}).get("Code"))


def _described(found: Mapping[str, Any]) -> NamedTable:
    storage = found.get("StorageDescriptor", {})
    serde = storage.get("SerdeInfo", {}).get("Parameters", {})
    return NamedTable(
        f"{found['DatabaseName']}.{found['Name']}",
        storage.get("Location"),
        storage.get("InputFormat"),
        {**serde, **found.get("Parameters", {})},
    )
