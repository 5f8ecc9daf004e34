"""Tokens of jobs: each lets its holder ask about one table until some time.

HiveServer2 signs them with the token that it shares with the service, and sends them to the hosts
that make a query's splits. These hosts never hold the shared token, and the service keeps no list.

A token is `job1.PAYLOAD.MAC`, both in URL-safe Base64 without padding: the payload is the seconds
since 1970 at which it expires, a newline, and the table's base path; the MAC is HMAC-SHA256 over
`_PURPOSE` and the payload (the same in the handler's `SignedToken.java`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

_PREFIX = b"job1."
_PURPOSE = b"pyhudi job token 1\n"


@dataclass(frozen=True)
class JobToken:
    """A token whose signature was right.

    Attributes:
        table: The base path of the only table that may be asked about.
        expires: Seconds since 1970.
    """

    table: bytes
    expires: int


def sign(secret: bytes, table: str, expires: int) -> bytes:
    """Return a token for a table's base path, as requests write it."""
    payload = f"{expires}\n{table}".encode()
    return _PREFIX + b".".join((_encode(payload), _encode(_mac(secret, payload))))


def read(secret: bytes, given: bytes) -> JobToken | None:
    """Return what a token says, or None if it is none or was not signed with the secret."""
    if not given.startswith(_PREFIX):
        return None
    payload, _, mac = given[len(_PREFIX) :].partition(b".")
    try:
        said = _decode(payload)
        if not hmac.compare_digest(_decode(mac), _mac(secret, said)):
            return None
        expires, _, table = said.partition(b"\n")
        return JobToken(table, int(expires))
    except ValueError:
        return None


def _mac(secret: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret, _PURPOSE + payload, hashlib.sha256)


def _encode(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    padded = text + b"=" * (-len(text) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)
