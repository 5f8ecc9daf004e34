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
        own_seconds: That of this process, which plays the clients.
    """

    millis: Sequence[float]
    seconds: float
    processor_seconds: float
    own_seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Answers in a second."""
        return len(self.millis) / self.seconds

    @property
    def processor_millis(self) -> float:
        """The processor time of the server for each answer, in milliseconds."""
        return self.processor_seconds / len(self.millis) * 1e3

    @property
    def own_millis(self) -> float:
        """The processor time of the clients for each answer, in milliseconds."""
        return self.own_seconds / len(self.millis) * 1e3

    def percentile(self, percent: float) -> float:
        """Return the milliseconds within which so many percent of the answers came."""
        return float(np.percentile(self.millis, percent))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its children so far, in both modes."""
    ticks = 0
    for one in with_children(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[_USER]) + int(fields[_SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK")


def with_children(pid: int) -> list[int]:
    """Return the ids of a process and of those that it and they have started."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    started = [(thread / "children").read_text().split() for thread in threads]
    return [pid, *(other for some in started for one in some for other in with_children(int(one)))]
