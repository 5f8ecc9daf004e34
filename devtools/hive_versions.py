"""The versions of Hive that can be started here: Hive 4, and Hive 3.1 for its own tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from devtools.runtime import (
    HANDLER_JAR,
    HIVE_CONF,
    HIVE_LIB,
    ROOT,
    WORK,
    RuntimeMissingError,
    aux_jars,
)


@dataclass(frozen=True)
class HiveVersion:
    """A version of Hive and how to start it.

    Attributes:
        lib: The directory of its jars.
        handler: The storage handler's jar for it.
        holds_hudi: Whether that jar contains Hudi.
        make: The targets that fetch Hive and build the handler.
        entry: Arguments of `java` between its options and the main class; a class path follows.
        settings: Settings of hive-site.xml that differ from the template.
    """

    lib: Path
    handler: Path
    holds_hudi: bool
    make: str
    entry: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def aux_jars(self) -> tuple[Path, ...]:
        """Return the jars for Hive's auxiliary path: the storage handler and Hudi.

        Raises:
            RuntimeMissingError: A jar has not been fetched or built.
        """
        if not any(self.lib.glob("hive-service-*.jar")):
            raise RuntimeMissingError(f"no Hive in {self.lib}: run `make {self.make}`")
        if not self.holds_hudi:
            return aux_jars()
        if not self.handler.is_file():
            raise RuntimeMissingError(f"no {self.handler}: run `make {self.make}`")
        return (self.handler,)


HIVE_4 = HiveVersion(
    lib=HIVE_LIB, handler=HANDLER_JAR, holds_hudi=False, make="runtime handler", entry=("-cp",)
)

HIVE_3 = HiveVersion(
    lib=WORK / "runtime3" / "lib",
    handler=ROOT / "handler-java" / "target" / "hive3" / "pyhudi-hive3-handler.jar",
    holds_hudi=True,
    make="runtime3 handler3",
    entry=(str(HIVE_CONF / "hive3" / "Launcher.java"),),
    settings=MappingProxyType(
        # It comes without Tez, and needs a library that its artifacts do not declare.
        {"hive.execution.engine": "mr", "hive.async.log.enabled": "false"}
    ),
)
