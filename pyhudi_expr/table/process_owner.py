"""Who left a lock or an unfinished action: a process that may be at work still, or is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

HOST, PROCESS = "host", "process"


def this_process() -> dict[str, str]:
    """What this process leaves with what it begins."""
    return {HOST: socket.gethostname(), PROCESS: str(os.getpid())}


def is_gone(owner: Mapping[str, str]) -> bool:
    """Whether the process surely ended: it ran on this machine, and there is none of its number."""
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
