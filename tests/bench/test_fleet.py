"""The simulation of many services: tables stay where they are, and costs follow from sizes."""

import numpy as np
import pytest

from bench.fleet.simulation import House, ShardCosts, addresses, fleet, loss, placed

COSTS = ShardCosts([1_000, 10_000], [5e6, 50e6], [0.1, 1.0], [0.002, 0.02], 100e6)
HOUSE = House.of(1_000, 10_000_000, seed=1)


def test_costs_are_linear_between_and_beyond_the_measured_sizes() -> None:
    files = np.array([0, 500, 1_000, 5_500, 10_000, 20_000])
    assert COSTS.at(files, COSTS.memory) / 1e6 == pytest.approx([0, 2.5, 5, 27.5, 50, 100])
    found = COSTS.at(files, COSTS.answer_seconds) * 1e3
    assert found == pytest.approx([2, 2, 2, 11, 20, 40])


def test_a_house_has_all_files_and_all_questions() -> None:
    assert HOUSE.files.sum() == pytest.approx(10_000_000, rel=0.001)
    assert HOUSE.shares.sum() == pytest.approx(1)
    assert HOUSE.files[0] > 500 * HOUSE.files[-1]


def test_the_services_hold_all_tables_together() -> None:
    found = fleet(HOUSE, COSTS, addresses(8))
    assert found.tables.sum() == 1_000
    tables = COSTS.at(HOUSE.files, COSTS.memory).sum()
    assert found.memory.sum() == pytest.approx(8 * COSTS.bare_memory + tables)
    assert found.answers_per_second == pytest.approx(1 / found.load.max())
    assert 0 < found.evenness <= 1


def test_a_lost_service_moves_its_own_tables_only() -> None:
    services = addresses(8)
    losses = [loss(HOUSE, COSTS, services, lost) for lost in range(8)]
    assert sum(one.tables for one in losses) == pytest.approx(1)
    held = np.bincount(placed(HOUSE, services), COSTS.at(HOUSE.files, COSTS.memory))
    assert all(one.memory < memory for one, memory in zip(losses, held, strict=True))
