"""Clients of the S3 server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from obstore.store import S3Store

_SOON = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=20)}


def store(bucket: str, retries: int = 0) -> S3Store:
    """A client of a bucket, which finds the server by the environment."""
    return S3Store(
        bucket,
        retry_config={
            "max_retries": retries,
            "backoff": {**_SOON, "base": 2},
            "retry_timeout": timedelta(seconds=20),
        },
    )


def at_once(function: Any, count: int) -> list[Any]:
    """The results of `function(i)` for i = 0, 1, ..., each called in a thread of its own."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(function, range(count)))
