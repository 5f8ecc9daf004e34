"""The process from which workers are forked: `python -m pyhudi_expr.service.workers.template FD`.

It has imported what workers need and done nothing else: no thread runs in it, and it has read no
table. So a worker begins within milliseconds, and the memory that imports take is shared. It ends
when the supervisor does.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence

from pyhudi_expr.service.workers.forking import REQUEST, WORKER_SOCKETS, Event, encoded
from pyhudi_expr.service.workers.worker import serve

_WAKE_UPS = 1 << 10


def main(descriptor: int) -> int:
    """Fork workers until the supervisor ends; return the exit code, also in each worker."""
    # A terminal sends these to every process of its group; the supervisor decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    gc.freeze()  # Else a collection in a worker copies what is shared.
    with socket.socket(fileno=descriptor) as supervisor:
        order = _forked(supervisor)
    return 0 if order is None else serve(*order)


def _forked(supervisor: socket.socket) -> tuple[socket.socket, socket.socket, str] | None:
    """Follow the supervisor; return None at its end, and in a worker what it is to serve."""
    waking, wakes = socket.socketpair()
    with waking, wakes, selectors.DefaultSelector() as ready:
        wakes.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        ready.register(supervisor, selectors.EVENT_READ)
        ready.register(waking, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is waking:
                    waking.recv(_WAKE_UPS)
                    _tell_ended(supervisor)
                    continue
                content, given, _, _ = socket.recv_fds(supervisor, REQUEST.size, WORKER_SOCKETS)
                if not content:
                    return None
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    return _order(content, given)
                for one in given:
                    os.close(one)
                supervisor.sendall(encoded(Event.FORKED, pid))


def _tell_ended(supervisor: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        supervisor.sendall(encoded(Event.ENDED, pid, os.waitstatus_to_exitcode(status)))


def _order(content: bytes, given: Sequence[int]) -> tuple[socket.socket, socket.socket, str]:
    messages, connections = (socket.socket(fileno=one) for one in given)
    (name,) = REQUEST.unpack(content)
    return messages, connections, name.rstrip(b"\0").decode()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
