"""The lines of Hive that can be started here: Hive 4, and Hive 3.1 for tests of its own."""

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
class HiveLine:
    """A line of Hive.

    Attributes:
        lib: the directory with its jars.
        handler: the storage handler's jar for it.
        holds_hudi: whether that jar has Hudi in it.
        make: the targets that fetch and build the two.
        entry: what stands between `java` with its options, and a class path with a main class.
        settings: what its hive-site.xml says otherwise than the template.
    """

    lib: Path
    handler: Path
    holds_hudi: bool
    make: str
    entry: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def aux_jars(self) -> tuple[Path, ...]:
        """What goes on Hive's auxiliary path: the storage handler, and Hudi.

        Raises:
            RuntimeMissingError: something has not been fetched or built.
        """
        if not any(self.lib.glob("hive-service-*.jar")):
            raise RuntimeMissingError(f"no Hive in {self.lib}: run `make {self.make}`")
        if not self.holds_hudi:
            return aux_jars()
        if not self.handler.is_file():
            raise RuntimeMissingError(f"no {self.handler}: run `make {self.make}`")
        return (self.handler,)


HIVE_4 = HiveLine(
    lib=HIVE_LIB, handler=HANDLER_JAR, holds_hudi=False, make="runtime handler", entry=("-cp",)
)

HIVE_3 = HiveLine(
    lib=WORK / "runtime3" / "lib",
    handler=ROOT / "handler-java" / "target" / "hive3" / "pyhudi-hive3-handler.jar",
    holds_hudi=True,
    make="runtime3 handler3",
    entry=(str(HIVE_CONF / "hive3" / "Launcher.java"),),
    settings=MappingProxyType(
        # It comes without Tez, and asks for a library that its artifacts do not name.
        {"hive.execution.engine": "mr", "hive.async.log.enabled": "false"}
    ),
)
