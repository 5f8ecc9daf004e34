"""Jars of Java classes beside a test, for `ADD JAR`."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path


def compiled_jar(source: Path, lib: Path, directory: Path) -> Path:
    """Compile a Java source against the jars in `lib`. Returns the jar of its classes."""
    jars = ":".join(map(str, lib.glob("*.jar")))
    command = ["javac", "-nowarn", "-proc:none", "-d", str(directory), "-cp", jars, str(source)]
    subprocess.run(command, check=True, capture_output=True)
    jar = directory / f"{source.stem}.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        for file in directory.glob("*.class"):
            packed.write(file, file.name)
    return jar
