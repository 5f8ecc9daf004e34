"""A server as a child process: start it, wait for it with a deadline, and stop it in any case."""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_POLL_SECONDS = 0.1
_PR_SET_PDEATHSIG = 1
# Loaded before any fork: a child between fork and exec must not load libraries.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class ServerError(RuntimeError):
    """A server did not start, or died; the message ends with the last lines of its logs."""


def tail(path: Path, lines: int = 40) -> str:
    """Return the last lines of a log file, or "" if there is no such file."""
    if not path.is_file():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def interrupt_at_sigterm() -> None:
    """Make SIGTERM end this process as Ctrl-C does, by an exception: servers are stopped then."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


class ServerProcess:
    """A child process in its own session, so that Ctrl-C in a terminal reaches only this process.

    On Linux the kernel ends it when the thread that started it dies. So start servers from a thread
    that lives as long as they do.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        output: Path,
        logs: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start `command`; its output goes to the file `output`, and errors quote `logs`."""
        self.name = name
        self._logs = (output, *logs)
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("ab") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
                preexec_fn=_die_with_parent if _LIBC else None,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def wait_until(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Return as soon as `is_ready()` is true.

        Raises:
            ServerError: The process ended first, or `seconds` passed and it was stopped.
        """
        deadline = time.monotonic() + seconds
        while not is_ready():
            if not self.is_running():
                raise self.error(f"ended with status {self._process.returncode} while starting")
            if time.monotonic() > deadline:
                self.stop()
                raise self.error(f"did not answer within {seconds:g} s")
            time.sleep(_POLL_SECONDS)

    def wait(self) -> None:
        """Return when the process has ended successfully.

        Raises:
            ServerError: Its status was not 0.
        """
        if self._process.wait():
            raise self.error(f"ended with status {self._process.returncode}")

    def error(self, what: str) -> ServerError:
        """Return an error that says what happened and shows the end of the logs."""
        shown = "\n".join(f"--- {log}\n{tail(log)}" for log in self._logs)
        return ServerError(f"{self.name} {what}\n{shown}")

    def stop(self, grace_seconds: float = 15) -> None:
        """Terminate the process, and kill it after `grace_seconds`. A second call does nothing."""
        if not self.is_running():
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def run_logged(name: str, command: Sequence[str], *, output: Path) -> None:
    """Run a command to its end, with its output in a new file.

    Raises:
        ServerError: Its status was not 0; the message shows the end of its output.
    """
    output.unlink(missing_ok=True)
    process = ServerProcess(name, command, output=output)
    try:
        process.wait()
    finally:
        process.stop()


def _die_with_parent() -> None:
    assert _LIBC is not None
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
