"""The archived timeline of layout 2, an LSM tree of Parquet files in `timeline/history`.

`_version_` holds the newest version v, `manifest_<v>` the JSON list of the valid files. Rows have
`instantTime`, `completionTime`, `action` and serialised metadata, which is not read here.
"""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing.json_texts import parse_json
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

ARCHIVE_VERSION = "_version_"
"""The file that names the newest manifest of the archive."""


def archived_completion_times(storage: Storage, properties: TableProperties) -> dict[str, str]:
    """Read the completion time of every archived instant, by requested time.

    Layout 1 has no completion times, so its archive is not read.

    Raises:
        CorruptFile: The archive cannot be read.
    """
    if properties.timeline_layout == 1:
        return {}
    directory = f"{properties.timeline_dir}/{properties.history_path}"
    version_file = f"{directory}/{ARCHIVE_VERSION}"
    version = storage.read_if_present(version_file)
    if version is None:
        return {}
    manifest_file = f"{directory}/manifest_{version.decode().strip()}"
    names = _manifest(storage.read(manifest_file), manifest_file)
    times: dict[str, str] = {}
    for table in storage.at_once(lambda name: _read_times(storage, f"{directory}/{name}"), names):
        requested, completed = (string_list(table.column(i)) for i in range(2))
        times.update(zip(requested, completed, strict=True))
    return times


def _manifest(content: bytes, file: str) -> list[str]:
    if not content.strip():
        return []
    try:
        return [entry["fileName"] for entry in parse_json(content, file)["files"]]
    except (KeyError, TypeError) as error:
        raise CorruptFile(file, f"not a manifest of archived timeline files: {error!r}") from error


def _read_times(storage: Storage, file: str) -> pa.Table:
    import pyarrow.parquet as pq  # on use: most tables have no archive, and the import takes time

    try:
        # Without threads: Arrow's hold Python's buffers slightly longer than the reading lasts, and
        # abort (SIGABRT) a process that exits at that moment.
        with storage.open_input(file) as source, pq.ParquetFile(source) as archived:
            return archived.read(["instantTime", "completionTime"], use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise CorruptFile(file, f"the archived timeline cannot be read: {error}") from error
