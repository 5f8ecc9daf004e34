"""The storage handler of the day on which the bars for skipped rows were set."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools.runtime import HANDLER_JAR, ROOT, WORK, RuntimeMissingError, aux_jars

COMMIT = "537064bc2f22f8a18b7044845bed858b0a295a54"
"""Its handler reads each kept file whole."""

_JAR = WORK / "bench" / "earlier-handler" / HANDLER_JAR.name


def earlier_jars() -> Sequence[Path]:
    """Return the jars for Hive's auxiliary path, with the earlier handler; build it if needed.

    Raises:
        RuntimeMissingError: The commit is not in this clone, or a jar is missing.
        subprocess.CalledProcessError: Maven failed; its output was printed.
    """
    if not _JAR.is_file():
        with tempfile.TemporaryDirectory() as directory:
            _build(Path(directory))
    return (*(jar for jar in aux_jars() if jar != HANDLER_JAR), _JAR)


def _build(directory: Path) -> None:
    archive = directory / "sources.tar"
    command = ["git", "archive", "-o", str(archive), COMMIT, "handler-java", "hive-conf"]
    if subprocess.run(command, cwd=ROOT).returncode:
        raise RuntimeMissingError(f"no commit {COMMIT}: fetch the whole history of the repository")
    subprocess.run(["tar", "-xf", str(archive)], cwd=directory, check=True)
    maven = ["mvn", "-B", "-ntp", "-q", "-s", str(ROOT / "hive-conf" / "settings.xml")]
    maven += ["-f", "handler-java/pom.xml", "-Dmaven.test.skip", "package"]
    subprocess.run(maven, cwd=directory, check=True)
    _JAR.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(directory / "handler-java" / "target" / _JAR.name, _JAR)
