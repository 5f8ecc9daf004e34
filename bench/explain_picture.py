"""`python -m bench.explain_picture`: draw the page of an explanation, for the documents.

It needs Chromium (`apt-get install chromium`).
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

from pyhudi_expr.api.pages.explanation import explain_page
from pyhudi_expr.cli.demo_table import write_demo_indexes, write_demo_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable

PICTURE = Path(__file__).parents[1] / "docs" / "explain.png"
PREDICATE = (
    "fare > 100 AND city IN ('Oslo', 'Rome', 'Zagreb') AND ts < timestamp '2024-01-08 00:00:00'"
)
_TABLE = "./trips"
_WIDTH = 960
#: The end of the page is not drawn: indexes with their times, and the timeline.
_LAST = "form.map"
_COLOURS = 64


def draw() -> None:
    """Write the picture of a predicate on the demo's table."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    with TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": 800})
        page.set_content(_page(Path(directory) / "trips"))
        end = page.locator(_LAST).bounding_box()
        assert end is not None
        clip = {"x": 0, "y": 0, "width": _WIDTH, "height": end["y"] + end["height"] + 16}
        page.locator(".mark.kept").first.focus()
        taken = page.screenshot(full_page=True, clip=clip)
        browser.close()
    with Image.open(io.BytesIO(taken)) as opened:
        opened.convert("RGB").quantize(_COLOURS).save(PICTURE, optimize=True)


def _page(table: Path) -> str:
    write_demo_table(table)
    write_demo_indexes(table)
    result = Pruner().prune(
        str(table), PruneRequest(parse_predicate(PREDICATE), semantics=here("UTC"))
    )
    instants = HudiTable.open(str(table)).timeline.instants
    return explain_page(_TABLE, PREDICATE, result, result.explain(), instants)


if __name__ == "__main__":
    draw()
