"""The jars for Hive's auxiliary path: the handler, Hudi's bundle, and what Hudi needs beside it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.request import urlopen

from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import own_jar

CENTRAL = "https://repo.maven.apache.org/maven2"
"""Maven's central repository."""

_SECONDS = 60.0


@dataclass(frozen=True)
class Artifact:
    """A jar of a Maven repository.

    Attributes:
        group: Its group, with dots.
        name: Its name in the group.
        version: Its version.
        sha256: Of its bytes, in hexadecimal digits.
    """

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The file's name."""
        return f"{self.name}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where a repository has it."""
        return "/".join((*self.group.split("."), self.name, self.version, self.file_name))


@dataclass(frozen=True)
class Handler:
    """The handler of some versions of Hive.

    Attributes:
        jar: The file's name.
        goal: Which target of the Makefile builds it.
        beside: The jars that it needs.
    """

    jar: str
    goal: str
    beside: Sequence[Artifact]


_BESIDE_HIVE_4 = (
    Artifact(
        "org.apache.hudi",
        "hudi-spark3.5-bundle_2.12",
        "1.2.0",
        "cc79fba00822f3a6c3a860df99375c2e3d4a034d037dbf4213a4966a706a7676",
    ),
    Artifact(
        "com.esotericsoftware",
        "kryo-shaded",
        "4.0.2",
        "a4899f57fef456b9ec66f730e7b493ecb3dc494cc5758721ed9c18416fd2d3b6",
    ),
    Artifact(
        "com.esotericsoftware",
        "minlog",
        "1.3.0",
        "f7b399d3a5478a4f3e0d98bd1c9f47766119c66414bc33aa0f6cde0066f24cc2",
    ),
)
#: By the version of Hive. Hive 4 does not bring kryo; the handler for 3.1 has Hudi inside.
HANDLERS: Mapping[str, Handler] = {
    "3.1": Handler("pyhudi-hive3-handler.jar", "handler3", ()),
    **dict.fromkeys(
        ("4.0", "4.1", "4.2"), Handler("pyhudi-hive-handler.jar", "handler", _BESIDE_HIVE_4)
    ),
}


def put_jars(
    directory: Path,
    handler: Handler,
    repository: str = CENTRAL,
    progress: Callable[[str], None] = lambda _name: None,
) -> Sequence[Path]:
    """Put what Hive needs into a directory. What is there already stays if its bytes are right.

    Args:
        directory: It is made if it is missing.
        handler: That of the version of Hive.
        repository: The URL of a Maven repository.
        progress: Called with the name of each file before it is fetched.

    Returns:
        The files, the handler's jar first.

    Raises:
        HudiError: A jar cannot be had, or is not the one that was asked for.
        OSError: The directory cannot be written.
    """
    jar = own_jar(handler.jar, handler.goal)
    directory.mkdir(parents=True, exist_ok=True)
    for artifact in handler.beside:
        if not _is_there(directory / artifact.file_name, artifact):
            progress(artifact.file_name)
            _fetch(artifact, repository.rstrip("/"), directory)
    shutil.copyfile(jar, directory / jar.name)
    return [directory / name for name in (jar.name, *(one.file_name for one in handler.beside))]


def _is_there(path: Path, artifact: Artifact) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256


def _fetch(artifact: Artifact, repository: str, directory: Path) -> None:
    url = f"{repository}/{artifact.path}"
    # Written beside and renamed, so that a jar of this name is always a whole one.
    with NamedTemporaryFile(dir=directory, suffix=".part", delete=False) as part:
        path = Path(part.name)
        try:
            with urlopen(url, timeout=_SECONDS) as answer:
                shutil.copyfileobj(answer, part)
            part.flush()
            if not _is_there(path, artifact):
                raise HudiError(
                    f"{url}: its SHA-256 is not {artifact.sha256}, so it is another file; name a"
                    " repository that has it by --repository"
                )
            path.chmod(0o644)
            os.replace(path, directory / artifact.file_name)
        except (OSError, ValueError) as error:
            raise HudiError(
                f"{url}: {error}; name a repository that can be reached by --repository, or put the"
                f" file into {directory}"
            ) from error
        finally:
            path.unlink(missing_ok=True)
