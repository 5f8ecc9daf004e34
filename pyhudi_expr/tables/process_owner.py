"""Identify the process that left a lock or an unfinished action, and whether it has ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

HOST, PROCESS = "host", "process"


def this_process() -> dict[str, str]:
    """Return what identifies this process in files that it creates."""
    return {HOST: socket.gethostname(), PROCESS: str(os.getpid())}


def is_gone(owner: Mapping[str, str]) -> bool:
    """Return whether the process surely ended: it ran on this machine, and its id is unused."""
    process = owner.get(PROCESS, "")
    if owner.get(HOST) != socket.gethostname() or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        return False
    return False
