"""Fixtures for what may happen to who writes to a table; a room's conftest imports them."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyhudi_expr.table.storage import Storage

_CHANGES = ("write", "create", "delete", "delete_dir", "move")
"""The methods of a storage that change files."""


class Died(BaseException):
    """What a process does not survive."""


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None], int], bool]:
    """Runs something for so many more changes of files, and no more; whether it came to its end.

    The locks of who died are gone afterwards, as if they had expired.
    """
    left: list[int | None] = [None]

    def counted(name: str) -> None:
        change = getattr(Storage, name)

        def counting(self: Storage, *args: object) -> object:
            if left[0] is not None:
                if left[0] == 0:
                    raise Died
                left[0] -= 1
            return change(self, *args)

        monkeypatch.setattr(Storage, name, counting)

    for name in _CHANGES:
        counted(name)

    def run(something: Callable[[], None], changes: int) -> bool:
        left[0] = changes
        try:
            something()
        except Died:
            return False
        finally:
            left[0] = None
        return True

    return run


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None], str], None]:
    """Runs something that dies as soon as it has changed a file whose URI matches a pattern."""
    asked: list[re.Pattern[str]] = []
    dead: list[str] = []

    def watched(name: str) -> None:
        change = getattr(Storage, name)

        def watching(self: Storage, path: str, *args: object) -> object:
            if dead:
                raise Died
            done = change(self, path, *args)
            if asked and asked[0].search(f"{self.uri}/{path}"):
                dead.append(path)
                raise Died
            return done

        monkeypatch.setattr(Storage, name, watching)

    def run(something: Callable[[], None], pattern: str) -> None:
        asked.append(re.compile(pattern))
        try:
            with pytest.raises(Died):
                something()
        finally:
            asked.clear()
            dead.clear()

    for name in _CHANGES:
        watched(name)
    return run


AS_NOBODY = """
import os
if os.getuid() == 0:
    os.setuid(65534)
"""
"""What a program goes on with, when all is imported, that shall be another user's."""


@contextmanager
def kept_from_nobody(table: Path, writable: Sequence[str] = ()) -> Iterator[None]:
    """Another user can read the table, and write to these of its directories only."""
    places = [table, *(place for place in table.rglob("*") if place.is_dir())]
    of_root = os.getuid() == 0
    for place in places:
        mine = str(place.relative_to(table)) in writable
        place.chmod((0o777 if mine else 0o755) if of_root else (0o755 if mine else 0o555))
    for above in table.parents:  # pytest's directories are its user's own
        if above.name.startswith(("pytest", "test", "popen")):
            above.chmod(0o755)
    try:
        yield
    finally:
        for place in places:
            place.chmod(0o755)


class Disk:
    """A file system of its own, which can be filled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, free: int) -> None:
        """Leaves so many bytes, but for less than a page."""
        self.empty()
        there = os.statvfs(self.path)
        self._filler.write_bytes(bytes(max(there.f_bavail * there.f_frsize - free, 0)))

    def empty(self) -> None:
        """Gives the room back."""
        self._filler.unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small one; skips where none can be had."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.strip()}")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", str(place)], check=True)
