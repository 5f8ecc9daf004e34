"""How a cluster knows its callers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Security:
    """What makes a cluster believe its callers.

    Attributes:
        clients: Hadoop's settings for everyone.
        daemons: Further settings for daemons, which others need not see.
        environment: Variables for daemons and for the user who owns HDFS.
        node: What a NodeManager's JVM runs: a class, or a program in one file.
    """

    clients: Mapping[str, str] = field(default_factory=dict)
    daemons: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    node: str = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"


NAMES = Security(daemons={"dfs.permissions.enabled": "false"})
"""Callers say their names, and each may do everything."""
