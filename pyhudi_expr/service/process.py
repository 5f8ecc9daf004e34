"""The service as a supervisor of one process, or of several workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from pyhudi_expr.service import logs
from pyhudi_expr.service.ports import check_ports
from pyhudi_expr.service.running.file_systems import check_file_systems
from pyhudi_expr.service.running.reloading import InForce
from pyhudi_expr.service.running.supervised import Lifeline, supervised
from pyhudi_expr.service.running.watchdog import end_within
from pyhudi_expr.service.settings import ServiceSettings

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
