"""A house of many tables and N services that share them by rendezvous hashing, as arithmetic.

Nothing runs here. The placement is the real one (`services_for`); what a table costs the service
that has it is `ShardCosts`, measured for some sizes, linear between them and extrapolated beyond.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyhudi_expr.protocol.client import services_for

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ShardCosts:
    """What tables of some sizes cost a service.

    Attributes:
        files: Their numbers of files, ascending; 0 costs nothing.
        memory: Bytes of memory that each holds, beyond those of a service without tables.
        first_seconds: The time of the first answer.
        answer_seconds: The processor time of each later answer.
        bare_memory: Bytes of a service without tables.
    """

    files: Sequence[int]
    memory: Sequence[float]
    first_seconds: Sequence[float]
    answer_seconds: Sequence[float]
    bare_memory: float

    def at(self, files: Ints, costs: Sequence[float]) -> Floats:
        """Return one of the costs for tables of any size."""
        known = np.array([0.0, *self.files])
        # Only an answer costs something for a table without files: as much as for the smallest.
        first = costs[0] if costs is self.answer_seconds else 0.0
        values = np.array([first, *costs])
        slope = (values[-1] - values[-2]) / (known[-1] - known[-2])
        beyond = np.maximum(0, files - known[-1]) * slope
        return np.interp(files, known, values) + beyond


@dataclass(frozen=True)
class House:
    """Tables: their numbers of files, and their shares of all questions, which are 1 together."""

    files: Ints
    shares: Floats

    @staticmethod
    def of(tables: int, files: int, seed: int) -> "House":
        """Return tables whose sizes and shares follow Zipf's law, each in an order of its own."""
        law = 1 / np.arange(1, tables + 1)
        law /= law.sum()
        sizes = np.maximum(1, np.round(law * files)).astype(np.int64)
        return House(sizes, np.random.default_rng(seed).permutation(law))

    @property
    def paths(self) -> list[str]:
        """The tables' base paths."""
        return [f"s3://lake/tables/t{number:04d}" for number in range(len(self.files))]


@dataclass(frozen=True)
class Fleet:
    """What each of N services has and can do.

    Attributes:
        tables: Its number of tables.
        memory: Bytes of its memory, once it has answered about each of them.
        load: Its seconds of processor time for one question to the house.
    """

    tables: Ints
    memory: Floats
    load: Floats

    @property
    def answers_per_second(self) -> float:
        """Questions that the house can ask in a second until a core of one service is busy."""
        return 1 / float(self.load.max())

    @property
    def evenness(self) -> float:
        """The mean load against that of the busiest service."""
        return float(self.load.mean() / self.load.max())


def addresses(services: int) -> list[str]:
    """Return the addresses of N services."""
    return [f"pruning-{number}.example.com:9099" for number in range(services)]


def placed(house: House, services: Sequence[str]) -> Ints:
    """Return the position of each table's first service."""
    number = {address: position for position, address in enumerate(services)}
    return np.array([number[services_for(path, services)[0]] for path in house.paths])


def fleet(house: House, costs: ShardCosts, services: Sequence[str]) -> Fleet:
    """Return what each service has, if every one answers."""
    of, count = placed(house, services), len(services)
    memory = costs.at(house.files, costs.memory)
    load = costs.at(house.files, costs.answer_seconds) * house.shares
    return Fleet(
        np.bincount(of, minlength=count),
        costs.bare_memory + np.bincount(of, memory, count).astype(np.float64),
        np.bincount(of, load, count).astype(np.float64),
    )


@dataclass(frozen=True)
class Loss:
    """What the loss of one service moves.

    Attributes:
        tables: The share of the tables that move.
        seconds: The time in which the busiest heir reads what it inherits, one table at a time.
        memory: The most bytes that one heir gets.
    """

    tables: float
    seconds: float
    memory: float


def loss(house: House, costs: ShardCosts, services: Sequence[str], lost: int) -> Loss:
    """Return what moves if a service ends. Raises ValueError if another table moves, too."""
    before = placed(house, services)
    others = [address for address in services if address != services[lost]]
    after = placed(house, others)
    moved = before == lost
    stayed = np.array(services)[before] == np.array(others)[after]
    if (stayed == moved).any():
        raise ValueError("a table moves though its service remains")
    heirs = after[moved]
    inherited = house.files[moved]
    return Loss(
        float(moved.mean()),
        float(np.bincount(heirs, costs.at(inherited, costs.first_seconds)).max(initial=0)),
        float(np.bincount(heirs, costs.at(inherited, costs.memory)).max(initial=0)),
    )
