"""A supervisor of one process: it starts another one if that ends by itself.

What reads tables may end at any time: by the watchdog, by the system when memory is short, by a
mapped file that somebody has truncated. The supervisor reads nothing, so it goes on. It begins
before anything that starts threads is imported, and is forked from the first process.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import structlog

from pyhudi_expr.service.network.listening import AddressError
from pyhudi_expr.service.settings import SettingsError
from pyhudi_expr.service.table_roots import RootError

#: A process that served for a shorter time is replaced after a while, which doubles each time.
SHORT_LIFE_SECONDS = 10.0
_FIRST_DELAY_SECONDS, _MOST_DELAY_SECONDS = 0.5, 30.0
#: The longest wait for a signal, and the shortest, for the end of a process that was killed.
_LOOK_SECONDS, _TICK_SECONDS = 3600.0, 0.1
#: What the process says: that it listens, or why it does not.
_SERVES, _SAID_BYTES = b"serves", 1 << 14
_FAILED = 1
_REPORTED = {one.__name__: one for one in (SettingsError, AddressError, RootError)}

_log: Any = structlog.get_logger()


@dataclass(frozen=True)
class Lifeline:
    """The serving process's end of a pair of sockets to its supervisor.

    Attributes:
        supervisor: The socket; None without a supervisor.
    """

    supervisor: socket.socket | None = None

    def serves(self) -> None:
        """Tell the supervisor that this process listens: if it ends now, another one is needed."""
        if self.supervisor is not None:
            with contextlib.suppress(OSError):
                self.supervisor.send(_SERVES)


def supervised(serve: Callable[[Lifeline], None], stop_seconds: float) -> None:
    """Serve by a forked process, until SIGTERM or SIGINT; SIGHUP is passed on.

    Windows and macOS lack what this needs, and a process with threads cannot be forked, since one
    of them may hold a lock: there the calling process serves.

    Args:
        serve: Serves until a signal ends it, and tells the lifeline when it listens.
        stop_seconds: Time that the process has to end in order; then it is killed.

    Raises:
        SettingsError, AddressError, RootError: Those of `serve`, if it cannot begin.
        SystemExit: The process has ended with another exit code than 0.
    """
    if not _can_fork():
        serve(Lifeline())
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _signals())
    try:
        _keep_serving(serve, stop_seconds, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _keep_serving(
    serve: Callable[[Lifeline], None], stop_seconds: float, signals: Iterable[int]
) -> None:
    short_lives, has_served = 0, False
    while True:
        ours, theirs = socket.socketpair()
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            ours.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            _serve_and_exit(serve, Lifeline(theirs))
        theirs.close()
        with ours:
            code, is_stopping = _attend(pid, stop_seconds)
            said = ours.recv(_SAID_BYTES)
        has_served = has_served or said == _SERVES
        if is_stopping or not has_served:
            _end(code, said)
            return
        is_short = time.monotonic() - started < SHORT_LIFE_SECONDS
        short_lives = short_lives + 1 if is_short else 0
        delay = restart_delay(short_lives)
        _log.error("service started again", pid=pid, ended=_how(code), wait=delay)
        if signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, delay):
            return


def _serve_and_exit(serve: Callable[[Lifeline], None], lifeline: Lifeline) -> NoReturn:
    """Serve in the forked process. What the supervisor's callers do is not done here."""
    assert lifeline.supervisor is not None
    code = _FAILED
    try:
        serve(lifeline)
        code = 0
    except tuple(_REPORTED.values()) as error:
        said = f"{type(error).__name__} {error}".encode()
        lifeline.supervisor.send(said[:_SAID_BYTES])
    except KeyboardInterrupt:
        code = 0  # A terminal interrupts all processes; this one did not serve yet.
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _end(code: int, said: bytes) -> None:
    """End as the process did that served."""
    name, _, text = said.decode(errors="replace").partition(" ")
    if name in _REPORTED:
        raise _REPORTED[name](text)
    if code:
        raise SystemExit(max(code, _FAILED))


def _can_fork() -> bool:
    threads = Path("/proc/self/task")
    return threads.is_dir() and len([*threads.iterdir()]) == 1


def _signals() -> set[int]:
    return {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def _attend(pid: int, stop_seconds: float) -> tuple[int, bool]:
    """Wait for a process; return its exit code, -N after signal N, and whether it was to end."""
    stop_at = math.inf
    while True:
        left = stop_at - time.monotonic()
        happened = signal.sigtimedwait(_signals(), min(max(left, _TICK_SECONDS), _LOOK_SECONDS))
        if happened is not None and happened.si_signo == signal.SIGHUP:
            os.kill(pid, signal.SIGHUP)
        elif happened is not None and happened.si_signo != signal.SIGCHLD:
            os.kill(pid, signal.SIGTERM)
            stop_at = min(stop_at, time.monotonic() + stop_seconds)
        elif left <= 0:
            _log.warning("service killed: it does not stop", pid=pid)
            os.kill(pid, signal.SIGKILL)
        code = _code_of(pid)
        if code is not None:
            return code, stop_at < math.inf


def _code_of(pid: int) -> int | None:
    """Return the exit code of a process that has ended; None before.

    In a container this is the first process, to which others fall whose parents have ended.
    """
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)
        if not ended:
            return None


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def restart_delay(short_lives: int) -> float:
    """Return the seconds until a process is started again: none for the first time.

    Args:
        short_lives: How many of its kind have lived for less than `SHORT_LIFE_SECONDS` in a row.
    """
    if short_lives < 2:
        return 0.0
    return float(min(_FIRST_DELAY_SECONDS * 2 ** (short_lives - 2), _MOST_DELAY_SECONDS))
