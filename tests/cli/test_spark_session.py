"""The output of commands that start Spark."""

import os
import subprocess

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
