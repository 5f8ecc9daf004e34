"""Where certificates are kept: beside the table, and in this process.

Beside the table they lie in `.hoodie/pyhudi/certificates`, one for each index; who builds or
verifies an index writes them, replacing the older one. A query never does: it extends what it finds
in memory. A certificate that cannot be read counts as none.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import HOODIE_DIR, RECORD_INDEX
from pyhudi_expr.tables.mdt.certificates.certificates import (
    RecordCertificate,
    ValueCertificate,
    count_entries,
    decoded_records,
    decoded_values,
)
from pyhudi_expr.tables.mdt.certificates.extending import extend_records, extend_values
from pyhudi_expr.tables.mdt.certificates.pairing import pair_entries
from pyhudi_expr.tables.mdt.certificates.states import added_bytes, is_state_of
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.storage import Storage

CERTIFICATES_DIR = f"{HOODIE_DIR}/pyhudi/certificates"
MOST_ADDED_BYTES = 16 << 20
"""Of log files, for a query to extend a certificate."""
_MOST_HELD = 256

_log = logging.getLogger(__name__)

T = TypeVar("T", RecordCertificate, ValueCertificate)


def record_certificate(mdt: MetadataTable) -> RecordCertificate | None:
    """Return the certificate of the record index as it is now; None if there is none.

    A certificate of an earlier state is extended if that reads little.

    Raises:
        HudiError: The index cannot be read.
    """
    groups = mdt.groups(RECORD_INDEX)

    def extended(known: RecordCertificate) -> RecordCertificate | None:
        if is_state_of(known.state, groups):
            return known
        is_near = added_bytes(groups, known.state) <= MOST_ADDED_BYTES
        return extend_records(known, groups) if is_near else None

    return _current(mdt, RECORD_INDEX, decoded_records, extended, _RECORDS)


def value_certificate(mdt: MetadataTable, index: str) -> ValueCertificate | None:
    """Return the certificate of a secondary index as it is now, see `record_certificate`."""
    records, values = mdt.groups(RECORD_INDEX), mdt.groups(index)

    def extended(known: ValueCertificate) -> ValueCertificate | None:
        if is_state_of(known.state, values) and is_state_of(known.records, records):
            return known
        added = added_bytes(values, known.state) + added_bytes(records, known.records)
        return extend_values(known, records, values) if added <= MOST_ADDED_BYTES else None

    return _current(mdt, index, decoded_values, extended, _VALUES)


def certify_records(
    mdt: MetadataTable, check: Callable[[], None] = lambda: None
) -> RecordCertificate:
    """Read all entries of the record index, and keep the certificate in this process.

    Args:
        mdt: The metadata table.
        check: Called every few megabytes; its error ends the reading.

    Raises:
        HudiError: The index cannot be read.
    """
    made = count_entries(mdt.groups(RECORD_INDEX), check)
    _RECORDS.put(_label(mdt, RECORD_INDEX), made)
    return made


def certify_values(
    mdt: MetadataTable, index: str, check: Callable[[], None] = lambda: None
) -> ValueCertificate:
    """Read all entries of a secondary index and of the record index, see `certify_records`."""
    made = pair_entries(mdt.groups(RECORD_INDEX), mdt.groups(index), check)
    _VALUES.put(_label(mdt, index), made)
    return made


def write_certificate(
    mdt: MetadataTable, index: str, certificate: RecordCertificate | ValueCertificate
) -> None:
    """Write a certificate beside the table, in place of an older one.

    Raises:
        HudiError: It cannot be written.
    """
    mdt.table.storage.write(path_of(index), certificate.encoded())


def is_readable(mdt: MetadataTable, index: str) -> bool:
    """Return whether there is a certificate of an index, and it can be read, of whichever state."""
    if index == RECORD_INDEX:
        return _stored(mdt, index, decoded_records) is not None
    return _stored(mdt, index, decoded_values) is not None


def delete_certificate(storage: Storage, index: str) -> None:
    """Delete the certificate of an index, if there is one.

    Args:
        storage: Where the properties of the index's metadata table are: the data table's, or the
            extension's.
        index: The index's metadata partition.

    Raises:
        HudiError: It cannot be deleted.
    """
    if storage.stat(path_of(index)) is not None:
        storage.delete(path_of(index))


@dataclass
class _Held(Generic[T]):
    """The newest certificates that this process has read or made. Thread safe."""

    _known: OrderedDict[str, T] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, label: str) -> T | None:
        with self._lock:
            return self._known.get(label)

    def put(self, label: str, certificate: T) -> None:
        with self._lock:
            self._known[label] = certificate
            self._known.move_to_end(label)
            if len(self._known) > _MOST_HELD:
                self._known.popitem(last=False)


_RECORDS: _Held[RecordCertificate] = _Held()
_VALUES: _Held[ValueCertificate] = _Held()


def _current(
    mdt: MetadataTable,
    index: str,
    decoded: Callable[[bytes, str], T],
    extended: Callable[[T], T | None],
    held: _Held[T],
) -> T | None:
    label = _label(mdt, index)
    known = held.get(label)
    found = None if known is None else extended(known)
    if found is None:
        stored = _stored(mdt, index, decoded)
        found = None if stored is None else extended(stored)
    if found is not None:
        held.put(label, found)
    return found


def _stored(mdt: MetadataTable, index: str, decoded: Callable[[bytes, str], T]) -> T | None:
    storage = mdt.table.storage
    try:
        content = storage.read_if_present(path_of(index))
        return None if content is None else decoded(content, f"{storage.uri}/{path_of(index)}")
    except HudiError as error:
        _log.warning("the certificate of %s is not used: %s", index, error)
        return None


def _label(mdt: MetadataTable, index: str) -> str:
    return f"{mdt.metadata.storage.uri}/{index}"


def path_of(index: str) -> str:
    """Return where the certificate of an index is, from the base path of its table."""
    return f"{CERTIFICATES_DIR}/{index}.arrow"
