"""What `pyhudi serve` would do, without serving: the settings, and what is open to whom."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyhudi_expr.service.access import Access, is_loopback
from pyhudi_expr.service.process import check_ports
from pyhudi_expr.service.running.reloading import check_file_systems
from pyhudi_expr.service.settings import ServiceSettings, SettingsError, unknown_variables
from pyhudi_expr.service.table_roots import RootError, TableRoots, local_directory
from pyhudi_expr.service.web import http
from pyhudi_expr.user_settings import STORAGE_OPTIONS, settings_file, settings_in_file

_HIDDEN = "storage_options"


@dataclass(frozen=True)
class Report:
    """A service that would start.

    Attributes:
        settings: Name, value and origin of each setting. Of storage options only the names.
        access: What is open to whom, by part.
        warnings: What works, and is probably not meant.
    """

    settings: tuple[tuple[str, str, str], ...]
    access: Mapping[str, str]
    warnings: tuple[str, ...]


def check(settings: ServiceSettings, origins: Mapping[str, str]) -> Report:
    """Read what the service would read when it starts. Nothing listens.

    Args:
        settings: The settings.
        origins: Where those come from that are not defaults, by name.

    Raises:
        SettingsError: The service would not start.
    """
    Access(settings)
    check_ports(settings)
    if settings.console_address:
        from pyhudi_expr.service.metrics import Metrics
        from pyhudi_expr.service.web.console import Console, OwnOverview

        metrics = Metrics()
        Console(settings, OwnOverview(metrics), metrics)
    if settings.callback_address:
        from pyhudi_expr.service.metrics import Metrics
        from pyhudi_expr.service.refreshing import Refresher
        from pyhudi_expr.service.web.callbacks import Callbacks

        metrics = Metrics()
        Callbacks(settings, Refresher(settings, metrics), metrics)
    try:
        TableRoots(settings.table_roots)
    except RootError as error:
        raise SettingsError(f"table_roots: {error}") from None
    check_file_systems(settings)
    rows = ((name, _value(settings, name), origins.get(name, "")) for name in _names())
    return Report(tuple(rows), _access(settings), tuple(_warnings(settings)))


def _access(settings: ServiceSettings) -> dict[str, str]:
    shown = [
        *([f"a certificate of {settings.tls_client_ca}"] if settings.tls_client_ca else []),
        *([f"the token of {settings.token_file}"] if settings.token_file else []),
    ]
    callers = f"who shows {' and '.join(shown)}" if shown else "anyone"
    tls = "by TLS" if settings.tls_certificate else "without TLS"
    return {
        "pruning": f"{_place(settings.host, settings.port)}: {callers}, {tls}",
        "metrics": f"{_at('metrics_address', settings.metrics_address)}: anyone, without TLS"
        if settings.metrics_address
        else "off",
        "console": f"{_at('console_address', settings.console_address)}: {callers}, {tls}"
        if settings.console_address
        else "off",
        "callbacks": f"{_at('callback_address', settings.callback_address)}: {callers}, {tls}; they"
        " have indexes refreshed"
        if settings.callback_address
        else "off",
        "tables": f"below {', '.join(settings.table_roots)}"
        if settings.table_roots
        else "all that this user may read",
    }


def _at(setting: str, address: str) -> str:
    return _place(*http.host_and_port(setting, address))


def _place(host: str, port: int) -> str:
    return f"{host}:{port}, from {'this machine' if is_loopback(host) else 'the network'}"


def _names() -> list[str]:
    return list(ServiceSettings.model_fields)


def _value(settings: ServiceSettings, name: str) -> str:
    value = getattr(settings, name)
    if name == _HIDDEN:
        return ", ".join(f"{option}=..." for option in value)
    return str(settings.snapshot_path or "") if name == "snapshot_dir" else _text(value)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def _warnings(settings: ServiceSettings) -> Iterator[str]:
    if settings.workers > (os.cpu_count() or 1):
        yield (
            f"workers: {settings.workers} processes on {os.cpu_count()} cores; the threads of each"
            " are the setting threads"
        )
    for name in unknown_variables():
        yield f"{name}: no setting has this name; it has no effect"
    if options := settings_in_file().get(STORAGE_OPTIONS):
        yield f"storage_options: {settings_file()} of this user has {', '.join(options)}, too"
    if not is_loopback(settings.host):
        if not settings.tls_certificate:
            yield "tls_certificate: missing, so the token and the predicates can be read on the way"
        if not settings.table_roots:
            yield "table_roots: missing, so callers may ask about every table that it can read"
    for root in settings.table_roots:
        directory = local_directory(root)
        if directory is None:
            continue
        if not os.path.isdir(directory):
            yield f"table_roots: {root} does not exist, or is no directory"
        elif not os.access(directory, os.R_OK | os.X_OK):
            yield f"table_roots: {root} cannot be read by this user"
    address = settings.metrics_address
    if address and not is_loopback(http.host_and_port("metrics_address", address)[0]):
        yield f"metrics_address: anyone on the network may read the numbers at {address}"
