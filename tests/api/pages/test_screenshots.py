"""Every page looks as it did when it was last looked at: in light and dark, wide and narrow.

After a change, look at the new pictures, and write them with `PYHUDI_WRITE_SCREENSHOTS=1`.
"""

import os
from pathlib import Path

import pytest

from tests.api.pages.sample_pages import PAGES
from tests.api.pages.screenshots import FONT, difference, save, small
from tests.marks import long

pytestmark = [pytest.mark.slow, pytest.mark.browser]

#: Colour schemes and widths; both of each are in the first ones.
LOOKS = [(("light", 1280), ("dark", 400)), long((("dark", 1280), ("light", 400)))]
REFERENCES = Path(__file__).parents[2] / "data" / "screenshots"
#: Share of the pixels of a tile that may differ.
TOLERANCE = 0.12
#: What another machine may do to letters.
OTHER_LETTERS = (
    ".pyhudi * { letter-spacing: -0.04px; text-shadow: 0.4px 0 0 currentcolor; }"
    " .pyhudi code { font-weight: 600; }"
)


def taken(chromium, file: Path, scheme: str, width: int, style: str = ""):
    page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(file.as_uri())
    page.add_style_tag(content=FONT + style)
    picture = small(page.screenshot(full_page=True))
    page.close()
    return picture


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_as_its_references(chromium, name, looks, tmp_path):
    file = tmp_path / f"{name}.html"
    file.write_text(PAGES[name](tmp_path), encoding="utf-8")
    found = {}
    for scheme, width in looks:
        picture = taken(chromium, file, scheme, width)
        reference = REFERENCES / f"{name}-{scheme}-{width}.png"
        if os.environ.get("PYHUDI_WRITE_SCREENSHOTS") == "1":
            save(picture, reference)
        save(picture, tmp_path / reference.name)
        found[reference.name] = difference(picture, reference)
    changed = {name: share for name, share in found.items() if share > TOLERANCE}
    assert not changed, f"look at the pictures in {tmp_path}, then write them (see above)"


@pytest.mark.long
def test_the_tolerance_admits_other_letters_and_nothing_else(chromium, tmp_path):
    file = tmp_path / "explanation.html"
    file.write_text(PAGES["explanation"](tmp_path), encoding="utf-8")

    def differs(style: str, width: int = 1280) -> float:
        reference = REFERENCES / f"explanation-light-{width}.png"
        return difference(taken(chromium, file, "light", width, style), reference)

    for width in (1280, 400):
        assert differs(OTHER_LETTERS, width) <= TOLERANCE
    for change in (
        ".mark.kept { visibility: hidden }",
        ".flow svg { visibility: hidden }",
        ".bar { width: 90% !important }",
        ".pyhudi { --skipped: #777 }",
        ".plot { height: 23rem !important }",
        ".step { grid-template-columns: 1fr 14rem 9rem !important }",
    ):
        assert differs(change) > TOLERANCE, change
