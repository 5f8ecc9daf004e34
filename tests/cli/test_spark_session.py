"""The output of commands that start Spark."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from pyhudi_expr.cli.spark_session import output_on_failure

_WARN = ["sh", "-c", "echo a warning; echo another one >&2"]


def test_what_spark_says_while_it_starts_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with output_on_failure():
        subprocess.run(_WARN, check=True)
    print("the answer")
    assert capfd.readouterr() == ("the answer\n", "")


def test_what_a_living_jvm_says_later_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with output_on_failure():
        jvm = subprocess.Popen(["sh", "-c", "read line; echo $line >&2"], stdin=subprocess.PIPE)
    jvm.communicate(b"a late warning\n")
    assert jvm.returncode == 0
    assert capfd.readouterr() == ("", "")


def test_a_failed_start_shows_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError), output_on_failure():
        subprocess.run(["sh", "-c", "echo a warning; echo another one >&2; exit 1"], check=True)
    assert capfd.readouterr() == ("", "a warning\nanother one\n")


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with output_on_failure():
        pass
    assert len(os.listdir("/proc/self/fd")) == before


_SHOW_MASTER = """
import sys
from pyhudi_expr.cli.spark_session import spark_session

with spark_session("a test", sys.argv[1] if sys.argv[1:] else None, []) as spark:
    print("master:", spark.sparkContext.master, spark.sparkContext.pythonExec)
"""


@pytest.mark.smoke("None-arguments2")
@pytest.mark.spark
@pytest.mark.parametrize(
    ("submit", "arguments", "expected"),
    [
        (
            ["--master", "local[3]", "--conf", "spark.pyspark.python=python3"],
            [],
            "local[3] python3",
        ),
        (["--master", "local[3]"], ["local[1]"], "local[1] python3"),
        (None, [], f"local[*] {sys.executable}"),
    ],
)
def test_the_master_of_spark_submit_is_kept(
    tmp_path: Path, submit: list[str] | None, arguments: list[str], expected: str
) -> None:
    script = tmp_path / "show.py"
    script.write_text(_SHOW_MASTER)
    run = [sys.executable]
    if submit is not None:
        run = [str(Path(pyspark.__file__).with_name("bin") / "spark-submit"), *submit]
    unset = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "MASTER"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    found = subprocess.run(
        [*run, str(script), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert f"master: {expected}\n" in found.stdout
