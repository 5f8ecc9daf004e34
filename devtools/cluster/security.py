"""How a cluster knows its callers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Security:
    """What makes a cluster trust its callers.

    Attributes:
        clients: Hadoop's settings for everyone.
        daemons: Further settings for daemons, which others need not see.
        environment: Variables for daemons and for the user who owns HDFS.
        replacements: Sources of classes that daemons load instead of Hadoop's.
    """

    clients: Mapping[str, str] = field(default_factory=dict)
    daemons: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    replacements: Sequence[Path] = ()


NAMES = Security(daemons={"dfs.permissions.enabled": "false"})
"""Callers say their names, and each may do everything."""
