"""What Hudi's writers report of a commit, by HTTP.

With `hoodie.write.commit.callback.on=true` a writer posts a JSON object to
`hoodie.write.commit.callback.http.url` after each commit: the commit's time, the table's name and
base path, then a description of each written file. That may be megabytes; the base path is in its
first bytes.
"""

from __future__ import annotations

import json
import re

#: So much of a message is kept.
HEAD_BYTES = 1 << 16
#: Larger messages are refused: a commit of 100,000 files has less.
MAX_BYTES = 64 << 20

# In JSON, quotes within a text have a backslash before them: this can only be the name of a field.
_BASE_PATH = re.compile(rb'"basePath"\s*:\s*("(?:[^"\\]|\\.)*")')


def committed_table(head: bytes) -> str | None:
    """Return the base path in a message; None if it has none.

    Args:
        head: The first bytes of the message, up to `HEAD_BYTES`.
    """
    found = _BASE_PATH.search(head)
    if found is None:
        return None
    try:
        path = json.loads(found[1])
    except ValueError:  # not UTF-8, or not an escape of JSON's
        return None
    return path if isinstance(path, str) and path else None
