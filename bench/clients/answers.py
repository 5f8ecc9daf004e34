"""What a server under load answered, and what it spent on it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_USER, _SYSTEM = 11, 12  # of /proc/PID/stat, after the name


@dataclass(frozen=True)
class Answers:
    """The answers of a while.

    Attributes:
        millis: The time of each answer, in milliseconds.
        seconds: The length of the while.
        processor_seconds: The processor time of the server.
    """

    millis: Sequence[float]
    seconds: float
    processor_seconds: float

    @property
    def per_second(self) -> float:
        """Answers in a second."""
        return len(self.millis) / self.seconds

    @property
    def processor_millis(self) -> float:
        """The processor time of the server for each answer, in milliseconds."""
        return self.processor_seconds / len(self.millis) * 1e3

    def percentile(self, percent: float) -> float:
        """Return the milliseconds within which so many percent of the answers came."""
        return float(np.percentile(self.millis, percent))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, in user mode and in the kernel's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
