"""Threads that libraries start when they are imported, for what no service uses.

A process that has them cannot be forked safely, as a supervisor does.
"""

from __future__ import annotations

import os

#: Variables by which libraries start none. They are read when the library is imported.
NO_LIBRARY_THREADS = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}


def start_no_library_threads() -> None:
    """Let libraries that this process has not yet imported start none, unless the user says so."""
    for name, value in NO_LIBRARY_THREADS.items():
        os.environ.setdefault(name, value)
