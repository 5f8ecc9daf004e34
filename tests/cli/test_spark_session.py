"""What commands with Spark print."""

import subprocess

import pytest

from pyhudi_expr.cli.spark_session import stdout_as_stderr


def test_what_starts_with_a_session_prints_beside_the_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with stdout_as_stderr():
        subprocess.run(["echo", "a warning of Spark's JVM"], check=True)
    print("the answer")
    assert capfd.readouterr() == ("the answer\n", "a warning of Spark's JVM\n")
