"""`pyhudi serve` as a process of the tests."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, Queue

from prometheus_client.parser import text_string_to_metric_families

from devtools.runtime import free_port
from tests.service.running_server import PATIENCE

_ATTEMPTS = 3
_TAKEN = "address already in use"


class Process:
    """`pyhudi serve` with a settings file; its log is read line by line."""

    def __init__(self, directory: Path, **settings: object) -> None:
        self.file = directory / "service.toml"
        for attempt in range(1, _ATTEMPTS + 1):
            self._start(settings)
            try:
                self.port = int(str(self.wait_for_log("listening")["port"]))
            except AssertionError:
                self.kill()
                # Any connection of the machine may have taken the port of the pages meanwhile.
                if _TAKEN not in self.text.lower() or attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _start(self, settings: Mapping[str, object]) -> None:
        self.pages = free_port()
        self.fixed = {
            "port": 0,
            "log_format": "json",
            "snapshot_dir": "",
            "metrics_address": f"127.0.0.1:{self.pages}",
            **settings,
        }
        self.write()
        command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--config", str(self.file)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines: Queue[dict[str, object] | None] = Queue()
        self.text = ""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def write(self, **settings: object) -> None:
        """Writes the settings file; JSON values are valid TOML."""
        given = {**self.fixed, **settings}
        self.file.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items()))

    def wait_for_log(self, event: str, **fields: object) -> dict[str, object]:
        """Waits for the next line of the log with this event and these fields."""
        expected = {"event": event, **fields}
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except Empty:
                raise AssertionError(f"no line {expected} in time, but: {self.text}") from None
            if line is None:
                raise AssertionError(f"the service has ended without {expected}: {self.text}")
            if expected.items() <= line.items():
                return line

    def page(self, path: str) -> tuple[int, str]:
        """Status and content of a page."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.pages}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> Mapping[str, float]:
        """The metrics, as name{labels}."""
        return {
            sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(self.page("/metrics")[1])
            for sample in family.samples
        }

    def connect(self) -> socket.socket:
        """A raw connection."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def worker_pids(self) -> list[int]:
        """The process ids of the workers, of the first one first."""
        return [pid for template in self.template_pids() for pid in _children(template)]

    def serving_pid(self) -> int:
        """The process id of the one that serves, without workers."""
        (pid,) = _children(self.process.pid)
        return pid

    def template_pids(self) -> list[int]:
        """The process id of what workers are forked from, if it runs."""
        return _children(self.process.pid)

    def reload(self, event: str = "settings reloaded") -> dict[str, object]:
        """Send SIGHUP, and wait until the settings are read."""
        self.process.send_signal(signal.SIGHUP)
        return self.wait_for_log(event)

    def stop(self) -> int:
        """Stop the service in order; its exit code."""
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.reader.join()
        return code

    def kill(self) -> None:
        """Kill the process if it runs; workers end by themselves."""
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.text += line
            if line.startswith("{"):
                self.lines.put(json.loads(line))
        self.lines.put(None)


def _children(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(child) for child in children.split()]
