"""`pyhudi hive jars`: what Hive needs is fetched from a repository, whole and unchanged, or not."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from devtools.runtime import HANDLER_JAR, aux_jars
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.jars import HANDLERS, Artifact, Handler, put_jars

CONTENT = b"the bytes of a jar"
ARTIFACT = Artifact("org.example", "one", "1.0", hashlib.sha256(CONTENT).hexdigest())

pytestmark = pytest.mark.skipif(not HANDLER_JAR.is_file(), reason="make handler")


class Repository(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The files of a repository."""
    path = tmp_path / "repository" / ARTIFACT.path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return tmp_path / "repository"


@pytest.fixture
def repository(lake: Path) -> Iterator[str]:
    serve = partial(Repository, directory=str(lake))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def handler(*beside: Artifact) -> Handler:
    return replace(HANDLERS["4.0"], beside=beside)


def test_the_handler_and_what_it_needs_are_put_into_a_directory(
    repository: str, tmp_path: Path
) -> None:
    fetched: list[str] = []
    found = put_jars(tmp_path / "aux", handler(ARTIFACT), repository, fetched.append)
    assert [path.name for path in found] == [HANDLER_JAR.name, "one-1.0.jar"]
    assert [path.read_bytes() for path in found] == [HANDLER_JAR.read_bytes(), CONTENT]
    assert fetched == ["one-1.0.jar"]
    assert sorted((tmp_path / "aux").iterdir()) == sorted(found)


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "one-1.0.jar").write_bytes(CONTENT)
    assert put_jars(tmp_path, handler(ARTIFACT), "http://127.0.0.1:1")


def test_another_file_of_that_name_is_replaced(repository: str, tmp_path: Path) -> None:
    (tmp_path / "one-1.0.jar").write_bytes(b"an older one")
    put_jars(tmp_path, handler(ARTIFACT), repository)
    assert (tmp_path / "one-1.0.jar").read_bytes() == CONTENT


def test_a_file_with_other_bytes_is_refused_and_not_left(
    repository: str, lake: Path, tmp_path: Path
) -> None:
    (lake / ARTIFACT.path).write_bytes(b"something else")
    with pytest.raises(HudiError, match=r"one-1\.0\.jar: its SHA-256 is not .*--repository"):
        put_jars(tmp_path / "aux", handler(ARTIFACT), repository)
    assert not [*(tmp_path / "aux").iterdir()]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "no URL"])
def test_a_repository_that_cannot_be_reached_is_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(HudiError, match=rf"{url}/org/example/.*name a repository"):
        put_jars(tmp_path / "aux", handler(ARTIFACT), url)
    assert not [*(tmp_path / "aux").iterdir()]


def test_what_is_fetched_is_what_the_tests_of_hive_run_with() -> None:
    jars = {path.name: path for path in aux_jars()}
    for artifact in HANDLERS["4.0"].beside:
        content = jars[artifact.file_name].read_bytes()
        assert hashlib.sha256(content).hexdigest() == artifact.sha256
    assert {HANDLER_JAR.name, *(one.file_name for one in HANDLERS["4.0"].beside)} == {*jars}
