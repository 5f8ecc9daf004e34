"""Errors of object stores, in one line and without secrets.

Servers repeat in their answers what they were sent: AWS returns an expired session token, and the
headers of a request whose signature is wrong. So of an answer only its code and message are kept.
"""

from __future__ import annotations

import re

from obstore import exceptions

_GUIDE = "docs/object-stores.md says where credentials come from"
_ROLE = re.compile(r"169\.254\.\d|/latest/(?:api|meta-data)/|/computeMetadata/|/metadata/identity/")
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound|specified bucket does not exist")
_DENIED = exceptions.PermissionDeniedError, exceptions.UnauthenticatedError
_DENIED_STATUS = re.compile(r"40[13] (?:Unauthorized|Forbidden)")
_DEBUG = "\n\nDebug source:"
_BODY = re.compile(r"(?:<\?xml|<!doctype|<html|<Error\b|\{).*", re.DOTALL | re.IGNORECASE)
_CODE = re.compile(r"<Code>([\w.]{1,100})</Code>|\"(?:code|status)\": *\"?([\w.]{1,100})")
_MESSAGE = re.compile(r"<Message>([^<]{1,300})|\"message\": *\"([^\"]{1,300})")
_NOISE = re.compile(
    r"Generic \w+ error: |Error performing list request: |Server returned non-2xx status code: "
    r"|(?:Object at location \S+ not found"
    r"|The operation lacked the necessary privileges to complete for path \S+): "
)
_USER = re.compile(r"(?<=://)[^/\s@]+@")
_QUERY = re.compile(r"(https?://[^\s?]+)\?\S+")
_LONGEST = 600


NOT_FOUND = exceptions.NotFoundError, FileNotFoundError
"""obstore raises Python's own exception, too."""


def is_missing(error: BaseException) -> bool:
    """Return whether an object does not exist, in a bucket that does."""
    return isinstance(error, NOT_FOUND) and not _NO_BUCKET.search(str(error))


def as_os_error(error: BaseException, path: str) -> OSError:
    """Return what to raise for an error of obstore."""
    if is_missing(error):
        return FileNotFoundError(path)
    text = str(error).partition(_DEBUG)[0]
    body = _BODY.search(text)
    if body is not None:
        found = [_first(pattern, body.group()) for pattern in (_CODE, _MESSAGE)]
        text = f"{text[: body.start()]}{': '.join(filter(None, found))}"
    text = _QUERY.sub(r"\1", _USER.sub("", _NOISE.sub("", " ".join(text.split()))))
    text = text[:_LONGEST].rstrip(": ")
    if _NO_BUCKET.search(text):
        return OSError(f"the bucket or container does not exist: {text}")
    if _ROLE.search(text):
        return PermissionError(
            f"no credentials: none are set, and the machine has no role: {text}; {_GUIDE}"
        )
    if isinstance(error, _DENIED) or _DENIED_STATUS.search(text):
        return PermissionError(f"access is denied: {text}; {_GUIDE}")
    return OSError(text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return "" if match is None else next(filter(None, match.groups()), "")
