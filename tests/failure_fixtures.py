"""Fixtures that simulate failures of a writer. A room's conftest imports them."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyhudi_expr.tables.storage import Storage

CHANGES = ("write", "create", "replace", "delete", "delete_dir", "move")
"""The methods of a storage that change files."""


class Killed(BaseException):
    """Raised where a process would be killed. A BaseException, so that no handler catches it."""


@pytest.fixture
def kill_after_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[], None], int], bool]:
    """Runs a function that is killed after a number of file changes. Returns whether it completed.

    Afterwards the locks of the killed process are gone, as if they had expired.
    """
    changes_left: list[int | None] = [None]

    def count_changes(name: str) -> None:
        change = getattr(Storage, name)

        def counting(self: Storage, *args: object) -> object:
            if changes_left[0] is not None:
                if changes_left[0] == 0:
                    raise Killed
                changes_left[0] -= 1
            return change(self, *args)

        monkeypatch.setattr(Storage, name, counting)

    for name in CHANGES:
        count_changes(name)

    def run(something: Callable[[], None], changes: int) -> bool:
        changes_left[0] = changes
        try:
            something()
        except Killed:
            return False
        finally:
            changes_left[0] = None
        return True

    return run


@pytest.fixture
def kill_after_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[], None], str], None]:
    """Runs a function that is killed after it has changed a file whose URI matches a pattern."""
    patterns: list[re.Pattern[str]] = []
    killed_at: list[str] = []

    def watch(name: str) -> None:
        change = getattr(Storage, name)

        def watching(self: Storage, path: str, *args: object) -> object:
            if killed_at:
                raise Killed
            result = change(self, path, *args)
            if patterns and patterns[0].search(f"{self.uri}/{path}"):
                killed_at.append(path)
                raise Killed
            return result

        monkeypatch.setattr(Storage, name, watching)

    def run(something: Callable[[], None], pattern: str) -> None:
        patterns.append(re.compile(pattern))
        try:
            with pytest.raises(Killed):
                something()
        finally:
            patterns.clear()
            killed_at.clear()

    for name in CHANGES:
        watch(name)
    return run


AS_NOBODY = """
import os
if os.getuid() == 0:
    os.setuid(65534)
"""
"""Code for a program, after its imports, that continues as another user."""


@contextmanager
def readable_by_others(table: Path, writable: Sequence[str] = ()) -> Iterator[None]:
    """Makes the table readable for another user, who can write to these directories only."""
    places = [table, *(directory for directory in table.rglob("*") if directory.is_dir())]
    as_root = os.getuid() == 0
    for directory in places:
        is_writable = str(directory.relative_to(table)) in writable
        directory.chmod(
            (0o777 if is_writable else 0o755) if as_root else (0o755 if is_writable else 0o555)
        )
    for above in table.parents:  # pytest's directories belong to its user
        if above.name.startswith(("pytest", "test", "popen")):
            above.chmod(0o755)
    try:
        yield
    finally:
        for directory in places:
            directory.chmod(0o755)


class Disk:
    """A small file system of its own, which a test can fill."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, free: int) -> None:
        """Fills the disk, except for this many bytes (rounded to a page)."""
        self.empty()
        stats = os.statvfs(self.path)
        self._filler.write_bytes(bytes(max(stats.f_bavail * stats.f_frsize - free, 0)))

    def empty(self) -> None:
        """Frees the disk again."""
        self._filler.unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small file system. Skips the test if none can be mounted."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(directory)]
    result = subprocess.run(mount, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"no file system can be mounted: {result.stderr.strip()}")
    try:
        yield Disk(directory)
    finally:
        subprocess.run(["umount", str(directory)], check=True)
