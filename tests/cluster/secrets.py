"""Secrets of a cluster: what its HiveServer2 alone finds, and what lies on its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from devtools.cluster.hadoop import Cluster
from devtools.cluster.service import ClusterService


def settings_with_hidden_token(service: ClusterService, run_dir: Path) -> Mapping[str, str]:
    """The settings of a HiveServer2 that runs in a directory: no container finds its token."""
    (run_dir / "conf").mkdir()
    (run_dir / "conf" / "token").write_bytes(service.token_file.read_bytes())
    return {
        "hudi.pruning.token.file": "conf/token",
        "hudi.pruning.service.addresses": service.address,
    }


def files_holding(cluster: Cluster, content: bytes) -> Iterator[str]:
    """The files of nodes that have some bytes, jars aside."""
    for file in cluster.directory.glob("nodemanager*/**/*"):
        if file.is_file() and file.suffix != ".jar" and content in file.read_bytes():
            yield str(file)
