"""The addresses on which a service listens: no two of them may be the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.web import http

#: The settings with addresses of HTTP.
WEB_ADDRESSES = ("metrics_address", "console_address", "callback_address")
_EVERY_INTERFACE = frozenset({"", "0.0.0.0", "::"})
_LOCALHOST = "localhost"
_OF_LOCALHOST = frozenset({_LOCALHOST, "127.0.0.1", "::1"})


def check_ports(settings: ServiceSettings) -> None:
    """Raises SettingsError if two settings name the same host and port; 0 is a free port."""
    for (one, host, port), (other, other_host, other_port) in combinations(_places(settings), 2):
        if port == other_port != 0 and _overlap(host, other_host):
            raise SettingsError(
                f"{other}: {_text(other_host, port)} is what {one} has, too ({_text(host, port)}):"
                " give one of them another port"
            )


def _places(settings: ServiceSettings) -> Iterator[tuple[str, str, int]]:
    """Return setting, host and port of each address; raises SettingsError for one without port."""
    yield "port", settings.host, settings.port
    for name in WEB_ADDRESSES:
        address: str = getattr(settings, name)
        if address:
            yield name, *http.host_and_port(name, address)


def _overlap(host: str, other: str) -> bool:
    hosts = {host.lower(), other.lower()}
    is_localhost = _LOCALHOST in hosts and hosts <= _OF_LOCALHOST
    return len(hosts) == 1 or is_localhost or not hosts.isdisjoint(_EVERY_INTERFACE)


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
