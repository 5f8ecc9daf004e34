"""Whether an object store obeys the conditions of a write, on which every lock in it rests.

Some servers with S3's protocol take `If-None-Match` and `If-Match`, and write whatever they say. To
a client this looks as if it had won, so the conditions are tried out: once in each process and
bucket, with the first write that needs them. Readers never ask.
"""

from __future__ import annotations

from enum import Enum

from pyhudi_expr.tables.storage.object_clients import S3, StoreAddress


class Condition(Enum):
    """What a write may depend on, by the name of HTTP's header."""

    IS_MISSING = "If-None-Match"
    HAS_VERSION = "If-Match"


_obeyed: dict[tuple[StoreAddress, Condition], bool] = {}


def is_proved(address: StoreAddress, condition: Condition) -> bool:
    """Return whether a store is known to obey a condition; only servers of S3's protocol differ.

    Raises:
        OSError: It is known to ignore it.
    """
    obeyed = _obeyed.get((address, condition))
    if obeyed is False:
        raise refusal(address, condition)
    return address.kind != S3 or obeyed is True


def note(address: StoreAddress, condition: Condition, obeyed: bool) -> None:
    """Note whether a store obeys a condition, for this process."""
    _obeyed[address, condition] = obeyed


def refusal(address: StoreAddress, condition: Condition) -> OSError:
    """Return the error for a store that ignores a condition."""
    known = dict(address.settings)
    place = f"{known.get('endpoint', 'S3')} (bucket {known.get('bucket')})"
    return OSError(
        f"the object store {place} ignores the header {condition.value} of a PUT, so two writers "
        "can hold the same lock; queries work there, but index builds, clustering and key switches "
        "are refused: upgrade the server to a version with conditional writes "
        "(docs/object-stores.md, What is exclusive)"
    )
