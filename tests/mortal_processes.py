"""Processes that can be killed at any moment, started in milliseconds.

A server process imports everything once, and forks for each run. It has no threads, so a fork of it
is whole; a fork of the tests' own process would lack the threads of its storage clients.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from types import TracebackType

_SERVER = """
import importlib, os, sys, traceback
module = importlib.import_module(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    name, argument = line.split()
    process = os.fork()
    if not process:
        code = 1
        try:
            getattr(module, name)(argument)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class MortalProcesses:
    """Runs functions of one module, each in a process of its own."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        """Prepare them.

        Args:
            module: Its functions take one text without spaces.
            environment: Added to that of this process.
        """
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, module],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._process = 0
        assert self._line() == "ready"

    def run(self, name: str, argument: str) -> bool:
        """Call a function; return False if its process was killed.

        Raises:
            AssertionError: It raised an exception.
        """
        assert self._server.stdin is not None
        self._server.stdin.write(f"{name} {argument}\n")
        self._server.stdin.flush()
        self._process = int(self._line())
        code = int(self._line())
        assert code in (0, -signal.SIGKILL), f"{name}: {self._error()}"
        return code == 0

    def kill(self) -> None:
        """Kill the process that runs."""
        os.kill(self._process, signal.SIGKILL)

    def _line(self) -> str:
        assert self._server.stdout is not None
        line = self._server.stdout.readline().strip()
        assert line, self._error()
        return line

    def _error(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-4000:]

    def __enter__(self) -> MortalProcesses:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(20)
        self._errors.close()
