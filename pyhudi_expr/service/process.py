"""The service as a supervisor of one process, or of several workers, and its ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

from pyhudi_expr.service import logs
from pyhudi_expr.service.running.reloading import InForce, check_file_systems
from pyhudi_expr.service.running.single import end_within
from pyhudi_expr.service.running.supervised import Lifeline, supervised
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


#: Time beyond `stop_seconds` that the process has to end.
_END_SECONDS = 5.0


def serve(settings: ServiceSettings, read_again: Callable[[], ServiceSettings]) -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests. SIGHUP reloads the settings.

    Raises SettingsError and AddressError.
    """
    check_ports(settings)
    logs.configure(settings.log_format, settings.log_level)
    in_force = InForce.at_start(settings)
    # Imported on use: a supervisor needs nothing that reads tables.
    if settings.workers > 1:
        from pyhudi_expr.service.workers.supervisor import Supervisor

        check_file_systems(settings)
        asyncio.run(Supervisor(in_force, read_again).run())
    else:
        serve_alone = partial(_serve_alone, in_force, read_again)
        supervised(serve_alone, settings.stop_seconds + _END_SECONDS)


def _serve_alone(
    in_force: InForce, read_again: Callable[[], ServiceSettings], lifeline: Lifeline
) -> None:
    from pyhudi_expr.service.running.single import SingleProcess

    check_file_systems(in_force.settings)
    asyncio.run(SingleProcess(in_force, read_again, lifeline).run())
    # Threads that still read a table must not keep the process.
    end_within(_END_SECONDS)
