"""Commands that run as if outside the checkout."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"


def run(
    *command: object, cwd: Path, code: int = 0, given: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The output of the command, or how it must fail. given: additional environment variables."""
    # Nothing of the checkout is on the path.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env={**env, **given}, capture_output=True)
    assert done.returncode == code, done.stderr.decode()
    return (done.stdout if code == 0 else done.stderr).decode()
