"""The progress bar that commands show while Spark works."""

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from pyhudi_expr.cli.progress import job_progress

pytestmark = pytest.mark.spark

_TASKS = 4


class Screen(io.StringIO):
    """Lets the tasks end once the bar shows their number."""

    def __init__(self, sign: Path) -> None:
        super().__init__()
        self._sign = sign

    def write(self, text: str) -> int:
        if f"/{_TASKS}" in text:
            self._sign.touch()
        return super().write(text)


def run(spark: SparkSession, console: Console, sign: Path) -> None:
    def wait(number: int) -> int:
        import time

        while not sign.exists():
            time.sleep(0.01)
        return number

    with job_progress(spark.sparkContext, "building i", console):
        assert spark.sparkContext.parallelize(range(_TASKS), _TASKS).map(wait).count() == _TASKS


@pytest.mark.smoke
def test_the_bar_counts_tasks(spark: SparkSession, tmp_path: Path) -> None:
    screen = Screen(tmp_path / "sign")
    run(spark, Console(file=screen, force_terminal=True, width=100), tmp_path / "sign")
    assert "building i" in screen.getvalue()


def test_there_is_no_bar_without_a_terminal(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "sign").touch()
    screen = io.StringIO()
    run(spark, Console(file=screen), tmp_path / "sign")
    assert screen.getvalue() == ""
