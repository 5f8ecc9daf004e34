"""Hudi's own lock providers, and AWS's lock client, each in a JVM of its own."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devtools.runtime import ADD_OPENS, COLLECTOR, hudi_bundle, java
from devtools.zookeeper import spark_jars
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock

JAVA = Path(__file__).parent / "java"
PACKAGE = "org.apache.hudi.client.transaction.lock"


@dataclass(frozen=True)
class HudiLock:
    """A provider, or a client, that waits for commands."""

    process: subprocess.Popen[str]

    def lock(self, wait: float = 10) -> bool:
        """Try to take the lock for `wait` seconds."""
        return self._ask(f"lock {int(wait * 1000)}") == "true"

    def unlock(self) -> None:
        assert self._ask("unlock") == "true"

    def choose(self, key: str) -> None:
        """Take another lock from now on."""
        assert self._ask(f"key {key}") == "true"

    def race(self, rounds: int, marker: Path) -> None:
        """Begin to take the lock so often, and to create a file each time; `read` waits for it."""
        self._send(f"race {rounds} {marker}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _ask(self, command: str) -> str:
        self._send(command)
        return self.read()

    def _send(self, command: str) -> None:
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """Return the next line that is an answer; Hudi and its libraries log others."""
        for line in self.process.stdout:
            if line.startswith(("ready", "true", "false", "failed")):
                return line.strip()
        raise RuntimeError(f"Hudi's lock ended: {self.process.wait()}; see its log")


def assert_exclusive(
    hudi: HudiLock, lock: TableLock, impatient: TableLock, refusal: str, patience: float
) -> None:
    """Check that Hudi's provider and this program exclude each other from one lock.

    `refusal` is what `impatient` says while Hudi holds it; Hudi waits for `patience` seconds.
    """
    for _ in range(3):  # either may be the first, whatever the order in which servers note them
        with lock.held("tries") as lease:
            assert not hudi.lock(patience)
            lease.check()
        assert hudi.lock()
        with pytest.raises(LockNotAcquired, match=refusal), impatient.held("tries"):
            pass
        hudi.unlock()
    assert_waits_for(hudi, lock)


def assert_waits_for(hudi: HudiLock, lock: TableLock) -> None:
    """Check that this program waits for Hudi, and gets the lock as soon as that releases it."""
    assert hudi.lock()
    threading.Timer(0.5, hudi.unlock).start()
    with lock.held("tries"):
        pass


@contextmanager
def hudi_lock(
    provider: str,
    settings: Mapping[str, str],
    log: Path,
    classpath: Sequence[Path | str] = (),
    env: Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
) -> Iterator[HudiLock]:
    """Start a provider, by the name of its class (in PACKAGE if it has no dot); end it in the end.

    `classpath` goes before Hudi's bundle and the jars of Spark, `libraries` behind them.
    """
    arguments = [provider if "." in provider else f"{PACKAGE}.{provider}"]
    arguments += [f"{key}={value}" for key, value in settings.items()]
    jars = [*classpath, hudi_bundle(), f"{spark_jars()}/*", *libraries]
    with started("LockHolder.java", arguments, jars, log, env) as holder:
        yield holder


@contextmanager
def started(
    source: str,
    arguments: Sequence[str],
    jars: Sequence[Path | str],
    log: Path,
    env: Mapping[str, str] | None = None,
) -> Iterator[HudiLock]:
    """Start a program of the folder `java` that takes commands; end it in the end."""
    command = [str(java()), *COLLECTOR, *ADD_OPENS, "-cp", ":".join(map(str, jars))]
    command += [str(JAVA / source), *arguments]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=-1, stdout=-1, stderr=errors, text=True, env=env and dict(env)
        )
    try:
        holder = HudiLock(process)
        assert holder.read() == "ready", log.read_text()
        yield holder
    finally:
        process.kill()
        process.communicate()
