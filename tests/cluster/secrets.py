"""What lies on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from devtools.cluster.hadoop import Cluster


def files_holding(cluster: Cluster, content: bytes) -> Iterator[str]:
    """The files of nodes that have some bytes, jars aside."""
    for file in cluster.directory.glob("nodemanager*/**/*"):
        if file.is_file() and file.suffix != ".jar" and content in file.read_bytes():
            yield str(file)
