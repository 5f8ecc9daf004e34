"""Change hoodie.properties in the same steps as Hudi (`HoodieTableConfig.modify`).

A copy is kept while the file is replaced. Readers take the copy if the file is missing, and a
writer that finds one restores it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.tables.hudi_names import PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from pyhudi_expr.tables.properties import load_properties
from pyhudi_expr.tables.storage import Storage


def update(storage: Storage, changes: Mapping[str, str | None]) -> None:
    """Set properties, and remove those that are None; all others do not change.

    The caller holds the table's lock. If this raises HudiError, the properties are the old or the
    new ones.

    Raises:
        HudiError: The table does not exist (TableNotFound); another writer has changed the
            properties meanwhile, and its change stays; or the storage fails.
    """
    recover(storage)
    found = storage.read_versioned(PROPERTIES_FILE)
    if found is None:
        raise TableNotFound(f"{storage.uri}: no Hudi table here ({PROPERTIES_FILE} is missing)")
    old = load_properties(found.content)
    kept = {key: value for key, value in {**old, **changes}.items() if value is not None}
    if kept == old:
        return
    storage.write(PROPERTIES_BACKUP_FILE, found.content)
    try:
        written = storage.replace(PROPERTIES_FILE, dump_properties(kept), found.version)
    except HudiError:
        recover(storage)
        raise
    if written is None:  # that writer may need the copy now; the next change removes it
        raise HudiError(
            f"{storage.uri}: another writer changed {PROPERTIES_FILE} at the same time, although "
            "the table's lock is held here; check that all writers take the same lock "
            "(hoodie.write.lock.provider), and try again"
        )
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
    # Imported on use: few processes write properties, and the import takes time.
    import javaproperties

    now = datetime.now(timezone.utc).isoformat()
    text: str = javaproperties.dumps(
        dict(sorted(properties.items())), comments=f"Updated at {now}", timestamp=False
    )
    return text.encode("latin-1")
