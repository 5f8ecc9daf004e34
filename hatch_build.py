"""Builds the compiled kernel into the package, when pip does or by `python hatch_build.py`.

Without a C compiler the package works all the same, more slowly; nothing fails here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = object

_HEADER = Path("pyhudi_expr/tables/mdt/bytes/kernel.h")
_SOURCE = _HEADER.with_name("kernel.c")
#: Of `make handler spark-jar`; a wheel that is built without them has none for Hive and Spark.
_JARS = (
    Path("handler-java/target/pyhudi-hive-handler.jar"),
    Path("handler-java/target/spark/pyhudi-spark-extension.jar"),
)
_FLAGS = ["-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"]


def build(root: Path) -> Path | None:
    """Compile the kernel next to its source; None, and a line on stderr, if it cannot be built."""
    target = root / _SOURCE.with_name(f"_kernel{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}")
    compiler = _compiler()
    if compiler is None:
        target.unlink(missing_ok=True)
        print("no C compiler: pyhudi-expr is built without its compiled kernel", file=sys.stderr)
        return None
    # Written beside and renamed: a process may have the old one open.
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    source = zlib.crc32((root / _SOURCE).read_bytes(), zlib.crc32((root / _HEADER).read_bytes()))
    command = [
        *compiler,
        *_FLAGS,
        f"-DKERNEL_SOURCE={source}u",
        "-o",
        str(fresh),
        str(root / _SOURCE),
    ]
    try:
        built = subprocess.run(command, capture_output=True, text=True)
        problem = built.stderr or f"status {built.returncode}" if built.returncode else ""
    except OSError as error:
        problem = str(error)
    if problem:
        fresh.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        print(f"the compiled kernel cannot be built: {problem}", file=sys.stderr)
        return None
    fresh.replace(target)
    return target


def _compiler() -> list[str] | None:
    named = shlex.split(os.environ.get("CC", ""))
    candidates = [named] if named else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in candidates if shutil.which(command[0])), None)


class KernelBuildHook(BuildHookInterface):  # type: ignore[misc, valid-type]
    """Hatchling's hook; the wheel is bound to the platform only if it holds the kernel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the kernel, and add it to the wheel, with the jars that there are."""
        for jar in (Path(self.root, path) for path in _JARS):
            if jar.is_file() and version != "editable":
                build_data["force_include"][str(jar)] = f"pyhudi_expr/jars/{jar.name}"
        built = build(Path(self.root))
        if built is not None:
            build_data["artifacts"].append(f"/{_SOURCE.parent}/{built.name}")
            build_data["pure_python"] = False
            # No Python in the library: any interpreter of the platform will do.
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"


if __name__ == "__main__":
    print(build(Path(__file__).parent))
