"""The service's settings: command line over environment (``PYHUDI_...``) over one TOML file."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.mdt.store.disk_cache import user_directory
from pyhudi_expr.tables.storage import option_texts
from pyhudi_expr.tables.storage.process_options import LINKS_INSIDE, LINKS_OPTION


class SettingsError(ValueError):
    """A setting is unknown or out of range, or the file cannot be read; the message says which."""


_PREFIX = "PYHUDI_"
#: Variables of other commands.
_OF_OTHERS = ("PYHUDI_HS2", "PYHUDI_METASTORE")
#: How alike a name and a setting's are if the one is the other, mistyped (`difflib`).
_ALIKE = 0.75
_NO_SETTING = "no setting has this name"
#: What pydantic-settings says of a variable that it cannot decode.
_NOT_JSON = re.compile(r'error parsing value for field "(\w+)" from source "EnvSettingsSource"')
_JSON_EXAMPLES = {
    "storage_options": '{"aws_region": "eu-west-1"}',
    "refresh_options": '["--wait", "60"]',
}

#: Settings that a running service cannot change.
NEED_RESTART = (
    "host",
    "port",
    "metrics_address",
    "console_address",
    "callback_address",
    "refresh_options",
    "refresh_seconds",
    "traces_endpoint",
    "query_log",
    "storage_options",
    "hdfs_via",
    "hadoop_conf_dir",
    "footers",
    "footer_wait",
    "cache_bytes",
    "row_files",
    "row_file_bytes",
    "row_seconds",
    "row_cache_bytes",
    "snapshot_dir",
    "snapshot_bytes",
    "shared_snapshots",
    "workers",
    "threads",
    "log_format",
    "log_level",
)


def _option_texts(options: object) -> object:
    """Return storage options as texts; pydantic says of other values that they are none."""
    if not isinstance(options, dict) or not options:
        return options
    try:
        texts = option_texts(options)
    except HudiError as error:
        raise ValueError(str(error)) from None
    from pyhudi_expr.tables.storage.object_options import unknown_options  # imports obstore

    unknown = unknown_options(texts)
    if unknown:
        raise ValueError(f"no object store has an option {', '.join(unknown)}")
    return texts


def _paths(paths: object) -> object:
    """Return the paths of a text: a list as JSON, or paths with commas in between."""
    if not isinstance(paths, str):
        return paths
    if not paths.lstrip().startswith("["):
        return tuple(path.strip() for path in paths.split(",") if path.strip())
    try:
        return json.loads(paths)
    except ValueError as error:
        raise ValueError(f"neither a JSON list nor paths with commas in between: {error}") from None


class ServiceSettings(BaseSettings):
    """The settings; docs/settings.md has the same table."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", frozen=True)

    host: str = Field(
        "127.0.0.1",
        description="Address to listen on; another than loopback needs `tls_client_ca` or"
        " `token_file`.",
    )
    port: int = Field(9099, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    tls_certificate: str = Field(
        "", description="PEM file with the service's certificate chain; empty: no TLS."
    )
    tls_key: str = Field("", description="PEM file with the certificate's private key.")
    tls_client_ca: str = Field(
        "", description="PEM file with authorities; callers need a certificate of one of them."
    )
    token_file: str = Field(
        "", description="File with a token that each connection has to begin with; empty: none."
    )
    metrics_address: str = Field(
        "", description="host:port for HTTP: `/metrics`, `/health`, `/ready`; empty: none."
    )
    console_address: str = Field(
        "", description="host:port for a console in a browser, with the same access; empty: none."
    )
    callback_address: str = Field(
        "",
        description="host:port for commit callbacks of Hudi's writers, with the same access: the"
        " extension's indexes of their tables, below `table_roots`, are refreshed, which writes to"
        " the tables; empty: none.",
    )
    refresh_options: tuple[str, ...] = Field(
        (), description="Options of `pyhudi index follow` for these refreshes: lock, Spark."
    )
    refresh_seconds: float = Field(
        3600, gt=0, description="Time that such a refresh may take; then it is ended."
    )
    traces_endpoint: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="URL of a collector that takes OpenTelemetry's spans (OTLP over HTTP), a span"
        " for each request; empty: none.",
    )
    query_log: str = Field(
        "",
        description="File to which the predicates of requests are added, constants and all, for"
        " `pyhudi advise --query-log`; empty: none.",
    )
    table_roots: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_paths)] = Field(
        (), description="Only tables below these directories or URIs are read; empty: all."
    )
    storage_options: Annotated[dict[str, str], BeforeValidator(_option_texts)] = Field(
        default_factory=dict,
        repr=False,
        description="Credentials, endpoints and other options of object stores.",
    )
    hdfs_via: Literal["", "libhdfs", "webhdfs"] = Field(
        "",
        description="How `hdfs://` and `viewfs://` are read: libhdfs, Hadoop's native library, or"
        " webhdfs, the NameNodes' REST interface; empty: libhdfs.",
    )
    hadoop_conf_dir: str = Field(
        "",
        description="Directory with Hadoop's `core-site.xml` and `hdfs-site.xml`, for webhdfs;"
        " empty: that of HADOOP_CONF_DIR.",
    )
    footers: bool = Field(
        False,
        description="Read the Parquet footers of all files without statistics, however long that "
        "takes. Otherwise each question has them read for two seconds.",
    )
    footer_wait: float = Field(
        0.5,
        ge=0,
        description="Seconds that a request waits for footers and slices that are being read.",
    )
    cache_bytes: int = Field(
        1 << 30, ge=0, description="Memory for tables kept between requests, in bytes."
    )
    row_files: int = Field(
        1000,
        ge=0,
        description="Kept files whose rows are evaluated by row groups and pages for a caller that"
        " can skip rows; if there are more, none is; 0: never.",
    )
    row_file_bytes: int = Field(
        1 << 20, ge=0, description="Size from which a file's rows are evaluated, in bytes."
    )
    row_seconds: float = Field(
        0.5, gt=0, description="Seconds to read footers and page indexes of a request's files."
    )
    row_cache_bytes: int = Field(
        64 << 20,
        ge=0,
        description="Memory for footers and page indexes between requests, in bytes.",
    )
    snapshot_dir: str = Field(
        "auto",
        description="Directory for what was read of metadata tables, for the service's user alone,"
        " as it is trusted; empty: none, auto: the user's cache directory.",
    )
    snapshot_bytes: int = Field(
        4 << 30, ge=0, description="Size of that directory's files, in bytes."
    )
    shared_snapshots: str = Field(
        "",
        description="URI of a directory with snapshots of large tables that `pyhudi snapshot`"
        " published; empty: none. Who can write to it decides which files are pruned.",
    )
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that answer behind the one port. Each has its own `threads`,"
        " `max_waiting` and `cache_bytes`.",
    )
    threads: int = Field(
        32,
        ge=1,
        le=256,
        description="Requests that a worker answers at the same time; most of them wait for"
        " storage, four are evaluated.",
    )
    max_waiting: int = Field(
        128,
        ge=0,
        description="Requests that may wait for a thread; more get the answer BUSY.",
    )
    max_connections: int = Field(
        512,
        ge=1,
        description="Open connections, in place of silent ones if need be; fewer where `ulimit -n`"
        " is low.",
    )
    max_frame_bytes: int = Field(
        8 << 20, ge=1 << 10, le=1 << 30, description="Size of a request, in bytes."
    )
    request_bytes: int = Field(
        256 << 20,
        ge=1 << 20,
        description="Memory that a decoded request may take, in bytes; a larger one goes unpruned.",
    )
    max_answer_bytes: int = Field(
        64 << 20, ge=1 << 10, description="Size of an answer, in bytes; a larger one is not sent."
    )
    max_nodes: int = Field(200_000, ge=1, description="Nodes in a request's filter.")
    max_literal_bytes: int = Field(
        1 << 16, ge=1, description="Size of one string or binary constant, in bytes."
    )
    request_seconds: float = Field(
        30,
        gt=0,
        description="Time to wait for a thread and evaluate a request; then it goes unpruned.",
    )
    idle_seconds: float = Field(
        600, gt=0, description="A connection without a request for so long is closed."
    )
    transfer_seconds: float = Field(
        10, gt=0, description="Time to receive one request, or to send one answer."
    )
    stop_seconds: float = Field(
        30, gt=0, description="Time that running requests have to finish when the service stops."
    )
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="Log lines for people or for machines; auto: people at a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severity that is logged; info has one line for each request."
    )

    @property
    def all_storage_options(self) -> dict[str, str]:
        """Return the storage options with those that are settings of their own."""
        named = {"hdfs_via": self.hdfs_via, "hadoop_conf_dir": self.hadoop_conf_dir}
        return {**{name: value for name, value in named.items() if value}, **self.storage_options}

    @property
    def table_options(self) -> dict[str, str]:
        """Return the storage options for tables: with roots, no link leads out of a table."""
        links = {LINKS_OPTION: LINKS_INSIDE} if self.table_roots else {}
        return {**self.all_storage_options, **links}

    @property
    def snapshot_path(self) -> Path | None:
        """Return the directory of `snapshot_dir`."""
        if self.snapshot_dir != "auto":
            return Path(self.snapshot_dir) if self.snapshot_dir else None
        return user_directory()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave the order to `load`, which has the file."""
        file = cls.model_config.get("toml_file")
        toml = (TomlConfigSettingsSource(settings_cls, Path(str(file))),) if file else ()
        return (init_settings, env_settings, *toml)


def load(file: Path | None = None, **overrides: object) -> ServiceSettings:
    """Load the settings; `overrides` that are None are left to the environment and the file.

    Raises SettingsError; also for a variable `PYHUDI_...` that is a setting's name, mistyped.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    mistyped = "; ".join(_mistyped_variables())
    if mistyped:
        raise SettingsError(mistyped)
    if file is not None and not file.is_file():
        raise SettingsError(f"the settings file {file} does not exist")
    bound = type(
        "ServiceSettings",
        (ServiceSettings,),
        {"model_config": SettingsConfigDict(toml_file=file), "__module__": __name__},
    )
    try:
        settings: ServiceSettings = bound(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(map(_problem, error.errors()))) from None
    except ValueError as error:
        not_json = _NOT_JSON.search(str(error))
        if not_json is not None:
            raise SettingsError(_json_expected(not_json[1])) from None
        raise SettingsError(f"{file or 'the environment'}: {error}") from None
    return settings


def unknown_variables() -> list[str]:
    """Return the variables `PYHUDI_...` that are neither settings nor another command's."""
    return [
        variable
        for variable, name in _variables().items()
        if name not in _names() and not variable.upper().startswith(_OF_OTHERS)
    ]


def origins(file: Path | None, overrides: Iterable[str]) -> Mapping[str, str]:
    """Return where the settings that do not have their default come from.

    Args:
        file: The TOML file, or None.
        overrides: The names that the command line sets.

    Returns:
        The file, the variable or "command line", by the setting's name.
    """
    in_file = TomlConfigSettingsSource(ServiceSettings, file)() if file else {}
    return {
        **dict.fromkeys(in_file, str(file)),
        **{name: variable for variable, name in _variables().items() if name in _names()},
        **dict.fromkeys(overrides, "command line"),
    }


def _names() -> Iterable[str]:
    return ServiceSettings.model_fields


def _variables() -> Mapping[str, str]:
    """Return the variables `PYHUDI_...`, each with the setting's name that it has."""
    return {
        variable: variable[len(_PREFIX) :].lower()
        for variable in sorted(os.environ)
        if variable.upper().startswith(_PREFIX)
    }


def _nearest(name: str) -> str | None:
    return next(iter(difflib.get_close_matches(name.lower(), _names(), 1, _ALIKE)), None)


def _mistyped_variables() -> Iterator[str]:
    names = _variables()
    for variable in unknown_variables():
        nearest = _nearest(names[variable])
        if nearest is not None:
            yield f"{variable}: {_NO_SETTING}; did you mean {_PREFIX}{nearest.upper()}?"


def _json_expected(name: str) -> str:
    variable = next(
        (variable for variable, field in _variables().items() if field == name),
        f"{_PREFIX}{name.upper()}",
    )
    example = _JSON_EXAMPLES.get(name)
    return f"{variable}: {name} is expected as JSON" + (f", such as {example}" if example else "")


def _problem(error: ErrorDetails) -> str:
    name = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{name}: {error['msg'].lower()}"
    nearest = _nearest(name)
    return f"{name}: {_NO_SETTING}" + (f"; did you mean {nearest}?" if nearest else "")
