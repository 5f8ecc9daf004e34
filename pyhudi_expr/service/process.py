"""The service as one process, or as a supervisor of several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pyhudi_expr.service import logs
from pyhudi_expr.service.ports import check_ports
from pyhudi_expr.service.running.file_systems import check_file_systems
from pyhudi_expr.service.running.reloading import InForce
from pyhudi_expr.service.running.watchdog import end_within
from pyhudi_expr.service.settings import ServiceSettings

#: Time that threads have to end after the last answer.
_END_SECONDS = 5.0


def serve(settings: ServiceSettings, read_again: Callable[[], ServiceSettings]) -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests. SIGHUP reloads the settings.

    Raises SettingsError and AddressError.
    """
    check_ports(settings)
    check_file_systems(settings)
    logs.configure(settings.log_format, settings.log_level)
    in_force = InForce.at_start(settings)
    # Imported on use: a supervisor needs nothing that reads tables.
    if settings.workers > 1:
        from pyhudi_expr.service.workers.supervisor import Supervisor

        asyncio.run(Supervisor(in_force, read_again).run())
    else:
        from pyhudi_expr.service.running.single import SingleProcess

        asyncio.run(SingleProcess(in_force, read_again).run())
        # Threads that still read a table must not keep the process.
        end_within(_END_SECONDS)
