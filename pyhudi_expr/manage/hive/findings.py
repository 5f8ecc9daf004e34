"""What a check of one link has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """The result of checking a link."""

    GOOD = "ok"
    DOUBTFUL = "warning"
    """Queries are right, and less pruned than they could be."""
    BROKEN = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The finding for one link.

    Attributes:
        message: What was found.
        remedy: What to do; empty if all is well.
    """

    link: str
    verdict: Verdict
    message: str
    remedy: str = ""
