"""Changing hoodie.properties, in the steps in which Hudi does it (`HoodieTableConfig.modify`).

A copy is kept while the file is replaced; readers take the copy when the file is missing, and a
writer that finds one puts it back first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

import javaproperties

from pyhudi_expr.table.errors import HudiError, TableNotFound
from pyhudi_expr.table.properties import BACKUP_FILE, PROPERTIES_FILE, load_properties
from pyhudi_expr.table.storage import Storage


def update(storage: Storage, changes: Mapping[str, str | None]) -> None:
    """Sets the properties, or removes those that are None; all others stay as they are.

    The caller holds the table's lock. Raises HudiError; the properties are the old or the new ones
    then.
    """
    recover(storage)
    if storage.stat(PROPERTIES_FILE) is None:
        raise TableNotFound(f"{storage.uri}: no Hudi table here ({PROPERTIES_FILE} is missing)")
    content = storage.read(PROPERTIES_FILE)
    changed = {**load_properties(content), **changes}
    kept = {key: value for key, value in changed.items() if value is not None}
    if kept == load_properties(content):
        return
    storage.write(BACKUP_FILE, content)
    try:
        storage.write(PROPERTIES_FILE, dump_properties(kept))
    except HudiError:
        recover(storage)
        raise
    storage.delete(BACKUP_FILE)


def recover(storage: Storage) -> None:
    """Ends what a writer that died has begun: its properties when they are whole, else the old."""
    if storage.stat(BACKUP_FILE) is None:
        return
    if storage.stat(PROPERTIES_FILE) is None:
        storage.write(PROPERTIES_FILE, storage.read(BACKUP_FILE))
    storage.delete(BACKUP_FILE)


def dump_properties(properties: Mapping[str, str]) -> bytes:
    """The content of a properties file."""
    now = datetime.now(timezone.utc).isoformat()
    text: str = javaproperties.dumps(
        dict(sorted(properties.items())), comments=f"Updated at {now}", timestamp=False
    )
    return text.encode("latin-1")
