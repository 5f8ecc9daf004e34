"""Java sources of the engines' judges, compiled once for each version of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from devtools.runtime import WORK, RuntimeMissingError

_BUILT = WORK / "truth"
# Not: path (manifests of other jars), classfile, processing, serial, as in handler-java/pom.xml.
# Not -Werror: Calcite's classes name annotations that are not in the runtime.
_JAVAC = ("--release", "17", "-proc:none", "-Xlint:all,-path,-classfile,-processing,-serial")


def compiled(sources: Path, class_path: str = "", jars: Sequence[Path] = ()) -> Path:
    """Returns the directory of the classes of all sources in a directory.

    jars: those of the class path that may change.
    """
    files = sorted(sources.glob("*.java"))
    state = hashlib.sha256()
    for file in (*files, *jars):
        state.update(file.read_bytes())
    classes = _BUILT / f"{sources.name}-{state.hexdigest()[:16]}"
    if not classes.is_dir():
        _BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_BUILT) as made:
            _compile(files, Path(made, "classes"), class_path)
            with suppress(OSError):  # Another process compiled them first.
                Path(made, "classes").rename(classes)
    return classes


def compiler() -> str:
    """Returns the Java compiler of the PATH: JVMs that evaluate may have none.

    Raises:
        RuntimeMissingError: There is none.
    """
    found = shutil.which("javac")
    if found is None:
        raise RuntimeMissingError("no javac in the PATH: install a JDK 17")
    return found


def _compile(files: Sequence[Path], classes: Path, class_path: str) -> None:
    command = [compiler(), *_JAVAC, "-d", str(classes), "-cp", class_path or str(classes)]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"javac does not compile {files[0].parent}\n{done.stderr}")
