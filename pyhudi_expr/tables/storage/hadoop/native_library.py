"""libhdfs, Hadoop's native library, by which pyarrow reads `hdfs://`."""

from __future__ import annotations

import re
import subprocess
import sys

VIA_OPTION = "hdfs_via"
"""The option that says by what `hdfs://` is read: WEBHDFS or LIBHDFS, else the latter."""
WEBHDFS, LIBHDFS = "webhdfs", "libhdfs"

_MISSING = re.compile(r"Unable to load lib(?:hdfs|jvm)")
_PROGRAM = """
import sys
from pyarrow import fs
try:
    fs.FileSystem.from_uri(sys.argv[1])
except (OSError, ValueError) as error:
    print(*str(error).splitlines()[:1])
    sys.exit(3)
"""
_REFUSED = 3
_SECONDS = 60
_REMEDY = (
    "hdfs:// needs Hadoop's native library libhdfs, which is not here, or a NameNode's REST"
    " interface: set hdfs_via to webhdfs (PYHUDI_HDFS_VIA=webhdfs, hdfs_via of the service's"
    " settings, or the storage option) with HADOOP_CONF_DIR; or install the library and set"
    " ARROW_LIBHDFS_DIR, JAVA_HOME and CLASSPATH"
)


def in_our_words(error: BaseException) -> str:
    """Return what to say of an error of pyarrow's HDFS: what to do if the library is missing."""
    text = str(error)
    return f"{_REMEDY} ({text.splitlines()[0]})" if _MISSING.search(text) else text


def problem_of(uri: str) -> str:
    """Return why the library cannot open a URI; empty if it can.

    It is tried in a process of its own: the library starts a JVM, which would stay.
    """
    command = [sys.executable, "-c", _PROGRAM, uri]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return ""  # it has been loaded, and waits for a NameNode
    if not done.returncode:
        return ""
    if done.returncode == _REFUSED:
        return in_our_words(OSError(done.stdout))
    return f"libhdfs ended its process with status {done.returncode}: {done.stderr[-300:]}"
