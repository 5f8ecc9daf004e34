"""Hudi's own lock providers, in a JVM of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.runtime import ADD_OPENS, COLLECTOR, hudi_bundle, java
from devtools.zookeeper import spark_jars

JAVA = Path(__file__).parent / "java"
PACKAGE = "org.apache.hudi.client.transaction.lock"


@dataclass(frozen=True)
class HudiLock:
    """A provider that waits for commands."""

    process: subprocess.Popen[str]

    def lock(self, wait: float = 10) -> bool:
        """Try to take the lock for `wait` seconds."""
        return self._ask(f"lock {int(wait * 1000)}") == "true"

    def unlock(self) -> None:
        assert self._ask("unlock") == "true"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _ask(self, command: str) -> str:
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> str:
        """Return the next line that is an answer; Hudi and its libraries log others."""
        for line in self.process.stdout:
            if line.startswith(("ready", "true", "false", "failed")):
                return line.strip()
        raise RuntimeError(f"Hudi's lock ended: {self.process.wait()}; see its log")


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
    jars = [*classpath, hudi_bundle(), f"{spark_jars()}/*", *libraries]
    command = [str(java()), *COLLECTOR, *ADD_OPENS, "-cp", ":".join(map(str, jars))]
    command += [
        str(JAVA / "LockHolder.java"),
        provider if "." in provider else f"{PACKAGE}.{provider}",
    ]
    command += [f"{key}={value}" for key, value in settings.items()]
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
