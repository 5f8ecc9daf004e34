"""The pruning service as a child process."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from thrift.Thrift import TException

from devtools.process import ServerProcess
from devtools.runtime import ROOT, free_port, is_listening
from pyhudi_expr.protocol.client import PruningClient

START_SECONDS = 60.0


class ServiceProcess:
    """`pyhudi serve` on a free port of the loopback interface, with its log in `run_dir`."""

    def __init__(self, run_dir: Path, *options: str, snapshots: Path | None = None) -> None:
        """Prepare the service without starting it.

        Args:
            run_dir: For its log.
            options: More options of `pyhudi serve`.
            snapshots: Its `snapshot_dir`; None for none.
        """
        self.run_dir = run_dir.resolve()
        self.port = 0
        self._options: Sequence[str] = options
        self._snapshots = snapshots or ""
        self._process: ServerProcess | None = None

    @property
    def address(self) -> str:
        """host:port, in the form of `hudi.pruning.service.addresses`."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service and return when it answers `info()`.

        Raises:
            devtools.process.ServerError: It ended, or did not answer in time.
        """
        self.stop()
        self.port = free_port()
        command = [sys.executable, *self.program(), "serve", "--host", "127.0.0.1"]
        self._process = ServerProcess(
            "The pruning service",
            [*command, "--port", str(self.port), *self._options],
            output=self.run_dir / "pruning-service.log",
            cwd=ROOT,
            # It writes nothing into the user's directories, and starts the same way every time.
            env={
                "PYHUDI_SNAPSHOT_DIR": str(self._snapshots),
                **os.environ,
                **self.environment(),
            },
        )
        self._process.wait_until(self._answers, START_SECONDS)

    def program(self) -> Sequence[str]:
        """Return what Python runs: `pyhudi`."""
        return "-m", "pyhudi_expr.cli"

    def environment(self) -> Mapping[str, str]:
        """Return variables that it has in addition to those of this process, or instead of them."""
        return {}

    def stop(self) -> None:
        """Stop the service if it runs."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    @property
    def pid(self) -> int:
        """The process id of the started service."""
        assert self._process is not None
        return self._process.pid

    def client(self, timeout: float = 2.0) -> PruningClient:
        """Return a client of the service, which the caller closes."""
        return PruningClient("127.0.0.1", self.port, timeout)

    def log(self) -> str:
        """Return everything that the service has logged."""
        path = self.run_dir / "pruning-service.log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def __enter__(self) -> "ServiceProcess":
        """Start the service."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the service."""
        self.stop()

    def _answers(self) -> bool:
        if not is_listening(self.port):
            return False
        try:
            with self.client() as client:
                client.info()
        except (TException, OSError, EOFError):
            return False
        return True
