"""The containers of docker/compose.yaml, and queries to their HiveServer2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from docker.errors import DockerException
from docker.models.containers import Container
from prometheus_client.parser import text_string_to_metric_families
from pyhive import hive
from testcontainers.compose import DockerCompose

from devtools.hiveserver import ENGINES
from devtools.runtime import ROOT, free_port
from docker import DockerClient
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.protocol.client import services_for

DOCKER = ROOT / "docker"
REPORTS = "/var/lib/hive/reports/scans.jsonl"
REPLICAS = tuple(
    address.partition(":")[0]
    for address in services_for("/warehouse/trips", ("pruning-1:9099", "pruning-2:9099"))
)
"""In the order in which HiveServer2 calls them about the table of the tests."""
START_SECONDS = 240.0
PATIENCE = 60.0
_COMMAND_SECONDS = 180.0
_UNHURRIED_MS = 20_000
_LINES_SHOWN = 40

Rows = list[tuple[Any, ...]]


class NoEngineError(RuntimeError):
    """No container engine is available."""


@dataclass(frozen=True)
class Answer:
    """The sorted rows of a query, and what the handler reported about its scan."""

    rows: Rows
    scan: Mapping[str, Any]

    @property
    def outcome(self) -> str:
        """The outcome of the scan's pruning."""
        return str(self.scan["outcome"])

    @property
    def files(self) -> tuple[int, int]:
        """Files considered and files read."""
        return self.scan["filesConsidered"], self.scan["filesKept"]

    @property
    def pruning_seconds(self) -> float:
        """The time that pruning took for the scan."""
        return float(self.scan["pruningMicros"]) / 1e6


class _Compose(DockerCompose):
    """Docker Compose as the plugin, or as the older program."""

    @cached_property
    def compose_command_property(self) -> list[str]:
        plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        program = ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"]
        assert self.compose_file_name is not None
        return [*program, "-f", *self.compose_file_name]

    def stop(self, down: bool = True) -> None:
        """Stops at once: the containers hold nothing that must be kept."""
        # It fails if nothing runs.
        kill = [*self.compose_command_property, "kill"]
        subprocess.run(kill, cwd=self.context, capture_output=True, check=False)
        super().stop(down)


class Cluster:
    """The running containers."""

    def __init__(self, engine: DockerClient, port: int) -> None:
        self.engine = engine
        self._port = port

    def container(self, service: str) -> Container:
        """The container of a service."""
        label = f"com.docker.compose.service={service}"
        found = self.engine.containers.list(all=True, filters={"label": [_LABEL, label]})
        return found[0]

    @property
    def network(self) -> Any:
        """The network of all containers."""
        return self.engine.networks.list(filters={"label": _LABEL})[0]

    def execute(self, service: str, command: Sequence[str], stdin: Path | None = None) -> str:
        """The output of a command in a container. Raises CalledProcessError with its output."""
        given = stdin.open() if stdin else subprocess.DEVNULL
        done = subprocess.run(
            ["docker", "exec", "-i", str(self.container(service).name), *command],
            stdin=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_SECONDS,
        )
        if done.returncode:
            raise AssertionError(f"{service}: {command}: {done.stdout}{done.stderr}"[-4000:])
        return done.stdout

    def write_trips(self, first: int, last: int) -> None:
        """Make Spark append the trips with these ids to the table."""
        script = Path(__file__).with_name("write_trips.py")
        self.execute("spark", ["python3", "-", str(first), str(last)], script)

    @contextmanager
    def session(self, settings: Mapping[str, str] | None = None) -> Iterator[HiveSession]:
        """A session with HiveServer2."""
        connection = hive.connect("127.0.0.1", self._port, auth="NOSASL", username="test")
        try:
            session = HiveSession(connection)
            session.set(settings or {})
            yield session
        finally:
            connection.close()

    def ask(self, query: str, engine: str = "fetch", **settings: object) -> Answer:
        """Runs a query with one scan. The settings omit their common prefix.

        By default, pruning has plenty of time, and the service is asked each time.
        """
        settings = {"timeout_ms": _UNHURRIED_MS, "cache_ms": 0, **settings}
        own = {
            f"hudi.pruning.{key.replace('_', '.')}": str(value) for key, value in settings.items()
        }
        before = len(self.scans())
        with self.session({**ENGINES[engine], **own}) as session:
            rows = sorted(session.run(query), key=repr)
        (scan,) = self.scans()[before:]
        return Answer(rows, scan)

    def scans(self) -> list[Mapping[str, Any]]:
        """The handler's scan reports, in order."""
        reports = self.execute("hiveserver2", ["sh", "-c", f"cat {REPORTS} || true"])
        return [json.loads(line) for line in reports.splitlines()]

    def metrics(self, replica: str) -> Mapping[str, float]:
        """The metrics of a pruning service, as name{labels}."""
        page = "http://127.0.0.1:9100/metrics"
        code = f"import urllib.request as u; print(u.urlopen('{page}').read().decode())"
        return {
            sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(
                self.execute(replica, ["python3", "-c", code])
            )
            for sample in family.samples
        }

    def wait(self, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until the condition holds."""
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, f"the condition did not hold within {seconds} s"
            time.sleep(0.3)

    def health(self, service: str) -> str:
        """ "healthy", or another status that the engine reports for a container."""
        state = self.container(service).attrs["State"]
        return str(state.get("Health", {}).get("Status", state["Status"]))


_PROJECT = "pyhudi-tests"
_LABEL = f"com.docker.compose.project={_PROJECT}"


def _build_images(log: Path) -> None:
    with log.open("wb") as output:
        built = subprocess.run(
            [str(DOCKER / "build.sh")], stdout=output, stderr=output, check=False
        )
    if built.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:])
        free = shutil.disk_usage(log.parent).free // 2**20
        raise RuntimeError(
            f"docker/build.sh ended with {built.returncode}; {free:,} MiB of the disk "
            f"are free. The end of {log}:\n{end}"
        )


@contextmanager
def cluster(directory: Path) -> Iterator[Cluster]:
    """Recreates the containers; their secrets and all logs are in `directory`.

    TAG names existing images; without it they are built.

    Raises NoEngineError, and RuntimeError if the images cannot be built.
    """
    try:
        engine = DockerClient.from_env()
        engine.ping()
    except DockerException as error:
        raise NoEngineError(f"no container engine answers: {error}") from error
    if shutil.which("docker") is None:
        raise NoEngineError("the program docker is missing")
    if "TAG" not in os.environ:
        _build_images(directory / "build.log")
    secrets = directory / "secrets"
    subprocess.run([str(DOCKER / "secrets.sh"), str(secrets)], check=True)
    port = free_port()
    os.environ |= {
        "COMPOSE_PROJECT_NAME": _PROJECT,
        "SECRETS": str(secrets),
        "PORT": str(port),
        # The containers need no durability.
        "POSTGRES_FSYNC": "off",
    }
    compose = _Compose(DOCKER, "compose.yaml", wait=False)
    # Volumes of killed tests would contain tables.
    compose.stop()
    with compose:
        running = Cluster(engine, port)
        try:
            running.wait(lambda: running.health("hiveserver2") == "healthy", START_SECONDS)
            yield running
        finally:
            for number, text in enumerate(compose.get_logs()):
                (directory / f"containers-{number}.log").write_text(text)
    engine.close()
