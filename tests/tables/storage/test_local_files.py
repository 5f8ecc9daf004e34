"""Local disks are read as pyarrow's file system reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import fs

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.file_system import FileSystemBackend, LocalBackend
from pyhudi_expr.tables.storage.process_options import LINKS_INSIDE, LINKS_OPTION

LOCAL = LocalBackend(fs.LocalFileSystem())
BY_PYARROW = FileSystemBackend(fs.LocalFileSystem())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """One with all that a directory may have, but for a link to nothing."""
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    (tmp_path / "below" / "deeper" / "leaf").write_bytes(b"l")
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / ".hidden é").write_bytes(b"")
    (tmp_path / "to a file").symlink_to(tmp_path / "file")
    (tmp_path / "to a directory").symlink_to(tmp_path / "below")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize("recursive", [False, True])
def test_a_directory_is_listed_as_by_pyarrow(directory: Path, *, recursive: bool) -> None:
    found = LOCAL.list(str(directory), recursive)
    assert sorted(found) == sorted(BY_PYARROW.list(str(directory), recursive))
    assert any(entry.size == len(b"content") and entry.modified_ns for entry in found)


def test_names_are_those_of_files_only(directory: Path) -> None:
    assert sorted(LOCAL.names(str(directory))) == [".hidden é", "file", "to a file"]
    assert sorted(LOCAL.names(str(directory))) == sorted(BY_PYARROW.names(str(directory)))


def test_a_link_to_nothing_is_left_out(directory: Path) -> None:
    before = LOCAL.list(str(directory), recursive=False)
    (directory / "to nothing").symlink_to(directory / "gone")
    assert sorted(LOCAL.list(str(directory), recursive=False)) == sorted(before)
    assert "to nothing" not in LOCAL.names(str(directory))


def test_a_missing_directory_has_no_entries(tmp_path: Path) -> None:
    assert LOCAL.list(str(tmp_path / "none"), recursive=False) == []
    assert LOCAL.names(str(tmp_path / "none")) == []


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 18) + 7])
def test_a_file_of_any_size_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(os.urandom(size))
    assert LOCAL.read(str(tmp_path / "file")) == (tmp_path / "file").read_bytes()


def test_what_cannot_be_read_is_named(directory: Path) -> None:
    storage = Storage.open(str(directory))
    assert storage.read_if_present("none") is None
    assert storage.read_if_present("file/none") is None
    with pytest.raises(HudiError, match="file 'none' does not exist"):
        storage.read("none")
    with pytest.raises(HudiError, match="file 'below' cannot be read"):
        storage.read("below")
    for reading in (storage.list, storage.names):
        with pytest.raises(HudiError, match="file 'file' cannot be read"):
            reading("file")


def test_no_open_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        LOCAL.read(str(tmp_path / "file"))
        LOCAL.list(str(tmp_path), recursive=False)
        LOCAL.names(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_no_file_and_does_not_wait_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hoodie.properties")
    storage = Storage.open(str(tmp_path))
    with pytest.raises(HudiError, match=r"hoodie\.properties.* is no regular file"):
        storage.read("hoodie.properties")


def test_a_device_without_end_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "hoodie.properties").symlink_to("/dev/zero")
    with pytest.raises(HudiError, match="is no regular file"):
        Storage.open(str(tmp_path)).read("hoodie.properties")


def test_a_file_that_is_read_as_a_whole_has_a_limit(tmp_path: Path) -> None:
    with open(tmp_path / "large.commit", "wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(HudiError, match=r"large\.commit: has 314572800 bytes; files of its kind"):
        Storage.open(str(tmp_path)).read("large.commit")


@pytest.fixture
def confined(tmp_path: Path) -> Storage:
    """A directory with links that lead out of it, opened with links confined."""
    outside = tmp_path / "outside"
    (outside / "deeper").mkdir(parents=True)
    (outside / "secret").write_bytes(b"secret")
    inside = tmp_path / "inside"
    (inside / "below").mkdir(parents=True)
    (inside / "below" / "file").write_bytes(b"content")
    (inside / "file link").symlink_to(outside / "secret")
    (inside / "directory link").symlink_to(outside)
    (inside / "link below").symlink_to(inside / "below")
    return Storage.open(str(inside), {LINKS_OPTION: LINKS_INSIDE})


READS = {
    "read": Storage.read,
    "read_if_present": Storage.read_if_present,
    "read_versioned": Storage.read_versioned,
    "open_input": Storage.open_input,
    "open_ranges": Storage.open_ranges,
    "stat": Storage.stat,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize(
    "path", ["file link", "directory link/secret", "below/../../outside/secret"]
)
def test_no_link_of_a_confined_directory_leads_out_of_it(
    confined: Storage, read: Callable[[Storage, str], object], path: str
) -> None:
    assert (Path(confined.root) / path).exists()
    with pytest.raises(HudiError, match="leads out of the table"):
        read(confined, path)


@pytest.mark.parametrize("recursive", [False, True])
def test_a_confined_directory_with_links_is_not_listed(
    confined: Storage, *, recursive: bool
) -> None:
    for path in ("", "directory link"):
        with pytest.raises(HudiError, match="link"):
            confined.list(path, recursive)
    with pytest.raises(HudiError, match="leads out of the table"):
        confined.names("directory link/deeper")


def test_a_confined_directory_is_read_as_any_other(confined: Storage) -> None:
    assert confined.read("below/file") == b"content"
    assert confined.read("link below/file") == b"content"
    assert confined.read_if_present("below/none") is None
    assert confined.stat("below/none") is None
    with confined.open_input("below/file") as source:
        assert (source.size(), source.read()) == (7, b"content")
    anywhere = Storage.open(confined.root)
    for recursive in (False, True):
        found = confined.child("below").list("", recursive)
        assert found == anywhere.child("below").list("", recursive)
    assert confined.list("none", recursive=True) == []


def test_a_directory_that_became_a_link_since_it_was_opened_is_not_read(confined: Storage) -> None:
    root = Path(confined.root)
    root.rename(root.with_name("before"))
    root.symlink_to(root.with_name("outside"))
    with pytest.raises(HudiError, match="leads out of the table"):
        confined.read("secret")
