"""docs/python.md: its blocks run one after another, and print what the document shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.documents import ROOT, Runner, pieces

_GUIDE = ROOT / "docs" / "python.md"
_PYTHON_AND_OUTPUT = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.filterwarnings(
    "error::pyhudi_expr.PyHudiWarning", "ignore:.*a pyarrow expression. install"
)
def test_the_blocks_run_and_print_what_is_shown(indexed_trips: Path) -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    blocks = _PYTHON_AND_OUTPUT.findall(_GUIDE.read_text())
    assert len(blocks) == len(pieces(Runner.GUIDE)) > 10
    for code, shown in blocks:
        printed = io.StringIO()
        source = code.replace("/warehouse/trips", str(indexed_trips))
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "docs/python.md", "exec"), names)  # noqa: S102  our own document
        if shown:
            assert printed.getvalue() == shown, code
