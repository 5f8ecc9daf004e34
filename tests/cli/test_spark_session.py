"""The output of commands that start Spark."""

import subprocess

import pytest

from pyhudi_expr.cli.spark_session import stdout_as_stderr


def test_output_of_starting_spark_goes_to_standard_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with stdout_as_stderr():
        subprocess.run(["echo", "a warning of Spark's JVM"], check=True)
    print("the answer")
    assert capfd.readouterr() == ("the answer\n", "a warning of Spark's JVM\n")
