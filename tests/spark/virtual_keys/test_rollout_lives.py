"""Whatever the order of steps, each row is read, and has its key or is known to have none."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.spark.virtual_keys.rollout_lives import KINDS, Kind, Life

pytestmark = pytest.mark.spark

_SEED = int(os.environ.get("TEST_SEED", Random().randrange(1 << 32)))
"""A new one for each run."""
_STEPS = 4


def live(spark: SparkSession, path: Path, kind: Kind, steps: int) -> None:
    """A life; its failure names the seed, the kind and the steps that repeat it."""
    life = Life(spark, str(path), kind, Random(f"{_SEED} {kind}"))
    try:
        life.begin()
        life.run(steps)
    except Exception as error:
        raise AssertionError(
            f"TEST_SEED={_SEED}, {kind}, after {', '.join(life.steps)}: {error}"
        ) from error


@pytest.mark.smoke
def test_random_steps_of_the_rollout_harm_no_row(spark: SparkSession, tmp_path: Path) -> None:
    live(spark, tmp_path / "t", Random(_SEED).choice(KINDS), _STEPS)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_longer_lives_of_each_kind(spark: SparkSession, tmp_path: Path, kind: Kind) -> None:
    live(spark, tmp_path / "t", kind, 3 * _STEPS)
