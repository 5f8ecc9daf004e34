"""The programs of devtools say what they do, and do nothing, if they are asked for help."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from devtools.runtime import ROOT

_PROGRAMS = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for file in (ROOT / "devtools").rglob("*.py")
    if '__name__ == "__main__"' in file.read_text()
    and file.parent.name != "release"  # has no dependency
)


def test_the_programs_are_found() -> None:
    assert {"devtools.demo", "devtools.hiveserver", "devtools.s3"} <= set(_PROGRAMS)


@pytest.mark.parametrize("program", _PROGRAMS)
def test_help_is_printed(program: str) -> None:
    command = [sys.executable, "-m", program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert re.match(rf"usage: {re.escape(program)} ", done.stdout)
    assert len(done.stdout.splitlines()) > 3
