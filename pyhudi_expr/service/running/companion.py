"""A pruning service for one parent process.

``python -m pyhudi_expr.service.running.companion TOKEN_FILE`` listens on a free port of the
loopback interface, prints the port as the only line of its standard output, knows callers by the
token in the file, and ends when its standard input does: a parent that dies in any way leaves no
process behind. Its other settings are those of `pyhudi serve` from the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading

from pyhudi_expr.service import logs
from pyhudi_expr.service.running.answering import Answering
from pyhudi_expr.service.settings import ServiceSettings, SettingsError, load


async def serve(settings: ServiceSettings) -> None:
    """Serve until SIGTERM, and print the port. Raises SettingsError and AddressError."""
    server = Answering(settings).server
    with contextlib.suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    await server.run(lambda host, port: print(port, flush=True))


def main(token_file: str) -> None:
    """Serve the process that writes to standard input. Raises SettingsError."""
    settings = load(
        host="127.0.0.1",
        port=0,
        workers=1,
        token_file=token_file,
        tls_certificate="",
        tls_key="",
        tls_client_ca="",
    )
    logs.configure(settings.log_format, settings.log_level)
    # Ctrl-C in a terminal goes to the parent, too, which may go on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(serve(settings))


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except SettingsError as error:
        sys.exit(str(error))
