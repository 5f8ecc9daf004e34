"""Change hoodie.properties in the same steps as Hudi (`HoodieTableConfig.modify`).

A copy is kept while the file is replaced. Readers take the copy if the file is missing, and a
writer that finds one restores it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

import javaproperties

from pyhudi_expr.table.errors import HudiError, TableNotFound
from pyhudi_expr.table.hudi_names import PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from pyhudi_expr.table.properties import load_properties
from pyhudi_expr.table.storage import Storage


def update(storage: Storage, changes: Mapping[str, str | None]) -> None:
    """Set properties, and remove those that are None; all others do not change.

    The caller holds the table's lock. If this raises HudiError, the properties are the old or the
    new ones.
    """
    recover(storage)
    if storage.stat(PROPERTIES_FILE) is None:
        raise TableNotFound(f"{storage.uri}: no Hudi table here ({PROPERTIES_FILE} is missing)")
    content = storage.read(PROPERTIES_FILE)
    changed = {**load_properties(content), **changes}
    kept = {key: value for key, value in changed.items() if value is not None}
    if kept == load_properties(content):
        return
    storage.write(PROPERTIES_BACKUP_FILE, content)
    try:
        storage.write(PROPERTIES_FILE, dump_properties(kept))
    except HudiError:
        recover(storage)
        raise
    storage.delete(PROPERTIES_BACKUP_FILE)


def recover(storage: Storage) -> None:
    """Complete what a failed writer started: keep its properties if whole, else the old ones."""
    if storage.stat(PROPERTIES_BACKUP_FILE) is None:
        return
    if storage.stat(PROPERTIES_FILE) is None:
        storage.write(PROPERTIES_FILE, storage.read(PROPERTIES_BACKUP_FILE))
    storage.delete(PROPERTIES_BACKUP_FILE)


def dump_properties(properties: Mapping[str, str]) -> bytes:
    """Return the content of a properties file."""
    now = datetime.now(timezone.utc).isoformat()
    text: str = javaproperties.dumps(
        dict(sorted(properties.items())), comments=f"Updated at {now}", timestamp=False
    )
    return text.encode("latin-1")
