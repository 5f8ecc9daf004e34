"""Errors of HDFS in the answers of WebHDFS, as Python's own."""

from __future__ import annotations

import json

from pyhudi_expr.tables.storage.hadoop.connections import Answer


class NotActiveError(Exception):
    """The NameNode is on standby, starting or in safe mode: it or another may answer soon."""


_SOON = ("StandbyException", "RetriableException", "SafeModeException", "ObserverRetryOnActive")
_KINDS: dict[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
    "FileAlreadyExistsException": FileExistsError,
    "ParentNotDirectoryException": NotADirectoryError,
    "PathIsNotDirectoryException": NotADirectoryError,
}
_LONGEST = 300


def remote_error(place: str, answer: Answer) -> Exception:
    """Return what to raise for an answer that is an error.

    Args:
        place: `host:port` that has sent it.
        answer: With a status of 400 or more.
    """
    try:
        found = json.loads(answer.content)["RemoteException"]
        name, message = str(found["exception"]), str(found["message"])
    except (ValueError, LookupError, TypeError):
        return OSError(f"{place} answers with the status {answer.status}, and not as WebHDFS does")
    text = f"{place}: {name}: {message.strip().partition(chr(10))[0][:_LONGEST]}"
    if any(soon in name or soon in message for soon in _SOON):
        return NotActiveError(text)
    return _KINDS.get(name, OSError)(text)
