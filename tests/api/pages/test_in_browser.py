"""Every page in Chromium: legible, nothing overlaps, everything within reach of the keyboard."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.api.pages.sample_pages import PAGES
from tests.marks import long

pytestmark = [pytest.mark.slow, pytest.mark.browser]

WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Mapping[str, Path]:
    """The pages, by name."""
    directory = tmp_path_factory.mktemp("pages")
    found = {}
    for name, page in PAGES.items():
        found[name] = directory / f"{name}.html"
        found[name].write_text(page(directory), encoding="utf-8")
    return found


def opened(chromium, file: Path, scheme: str = "light", width: int = 1280):
    """The page, which loads nothing else and logs nothing."""
    page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    requested: list[str] = []
    logged: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: logged.append(message.text))
    page.goto(file.as_uri())
    assert requested == [file.as_uri()]
    assert logged == []
    return page


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_have_the_contrast_of_wcag_aa(chromium, files, scheme):
    """4.5 to 1 against what is behind; 3 to 1 for large texts, and for what colours mean."""
    for name, file in files.items():
        page = opened(chromium, file, scheme)
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        texts, marks = page.evaluate(_CONTRASTS)
        assert len(texts) > 20, name
        assert [text for text in texts if text["ratio"] < text["needed"]] == [], name
        assert all(ratio >= 3 for ratio in marks), (name, marks)
        page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_is_cut_off_and_no_labels_overlap(chromium, files, width):
    for name, file in files.items():
        page = opened(chromium, file, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(_CUT_OFF) == [], name
        assert page.evaluate(_OVERLAPPING) == [], name
        page.close()


@pytest.mark.parametrize("width", [400, long(1280)])
def test_everything_is_within_reach_of_the_keyboard(chromium, files, width):
    """Tab reaches each link, section, map and table that scrolls, once, and leaves the page."""
    for name, file in files.items():
        page = opened(chromium, file, width=width)
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = false)")
        expected = page.evaluate(_REACHABLE)
        reached = by_keyboard(page)
        assert {kind: reached.get(kind, 0) for kind in expected} == expected, name
        page.close()


def by_keyboard(page) -> dict[str, int]:
    """How many of each kind the Tab key reaches; what folds is unfolded and folded again."""
    reached: dict[str, int] = {}
    for _ in range(400):
        page.keyboard.press("Tab")
        kind = page.evaluate(_KIND_OF_FOCUS)
        if kind is None:
            return reached
        reached[kind] = reached.get(kind, 0) + 1
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        if kind == "SUMMARY":
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open")
            page.keyboard.press("Enter")
            assert not page.evaluate("document.activeElement.parentElement.open")
    raise AssertionError("Tab goes round for ever")


def test_marks_show_their_file_under_the_mouse_and_by_the_arrow_keys(chromium, files):
    page = opened(chromium, files["explanation"])
    marks = page.locator(".mark")
    for _ in range(50):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('mark')"):
            break
    for number in range(3):
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert label == marks.nth(number).get_attribute("aria-label")
        assert visible_tips(page)[-1].startswith(label.partition(";")[0])
        page.keyboard.press("ArrowRight")
    kept = page.locator(".mark.kept").first
    kept.scroll_into_view_if_needed()
    kept.hover()
    (name, outcome) = kept.get_attribute("aria-label").split("; : ")
    assert name.endswith(".parquet")
    assert outcome.startswith("read; city: 'Oslo'; id: ")
    shown = page.evaluate(
        "getComputedStyle(document.querySelector('.mark:hover + .tip')).visibility"
    )
    assert shown == "visible"


def visible_tips(page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('.tip')]"
        ".filter(e => getComputedStyle(e).visibility === 'visible').map(e => e.innerText)"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_marks_are_large_enough_to_be_seen_and_pointed_at(chromium, files, width):
    for name in ("explanation", "layouts"):
        page = opened(chromium, files[name], width=width)
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('.mark')].flatMap("
            "e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height]))"
        )
        assert smallest >= 7
        page.close()


def test_the_two_maps_of_a_query_are_side_by_side_and_one_above_the_other_if_narrow(
    chromium, files
):
    tops = {}
    for width in WIDTHS:
        page = opened(chromium, files["layouts"], width=width)
        boxes = [page.locator(".maps figure").nth(number).bounding_box() for number in range(2)]
        tops[width] = boxes[1]["y"] - boxes[0]["y"]
        assert abs(boxes[0]["width"] - boxes[1]["width"]) < 1
        page.close()
    assert tops[1280] == 0
    assert tops[400] > 200


def test_tables_of_the_console_stack_on_a_narrow_screen(chromium, files):
    for name in ("console", "console_table"):
        page = opened(chromium, files[name], width=400)
        for number in range(page.locator("table.stack").count()):
            table = page.locator("table.stack").nth(number)
            if not table.is_visible():
                continue
            first, second = (table.locator("tbody tr").first.locator("td").nth(n) for n in (0, 1))
            assert second.bounding_box()["y"] >= first.bounding_box()["y"] + 10
            assert table.bounding_box()["width"] <= 400
        page.close()


def test_in_a_notebook_the_page_changes_nothing_outside_and_follows_its_theme(
    chromium, files, tmp_path
):
    host = tmp_path / "notebook.html"
    host.write_text(_NOTEBOOK, encoding="utf-8")
    page = opened(chromium, host, "light", 1000)
    before = page.evaluate(_STYLES_OUTSIDE)
    page.evaluate(
        "content => document.getElementById('cell').innerHTML = content",
        files["explanation"].read_text(encoding="utf-8"),
    )
    assert page.evaluate(_STYLES_OUTSIDE) == before
    assert page.locator("#cell h1").inner_text().startswith("90 of 96 files skipped")
    assert page.locator("#cell .mark").count() == 96
    assert page.evaluate("document.getElementById('cell').scrollWidth") <= 700
    light = page.evaluate(_PAPER)
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    assert page.evaluate(_PAPER) != light


_NOTEBOOK = """<!doctype html><html><body data-jp-theme-light="true">
<style>h1 { font: 40px serif } table { width: 99% } td { color: rgb(1, 2, 3) }</style>
<h1>Notebook</h1><p>Text <a href="#x">link</a> <code>code</code></p>
<table><tr><td>1</td></tr></table><details><summary>more</summary></details><form><input></form>
<div id="cell" style="width: 700px; overflow: auto"></div></body></html>"""
_STYLES_OUTSIDE = """() => [document.documentElement, ...document.querySelectorAll(
    'body, body > h1, body > p, body > p *, body > table, body > table td, body > details,'
    + 'body > form, body > form input')].map(e => { const s = getComputedStyle(e); return [
    s.color, s.backgroundColor, s.font, s.margin, s.padding, s.maxWidth, s.width, s.colorScheme,
    s.display, s.border].join() }).join('\\n')"""
_PAPER = "getComputedStyle(document.querySelector('#cell .pyhudi')).backgroundColor"

_CONTRASTS = """() => {
  const pixel = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = colour => { pixel.clearRect(0, 0, 1, 1); pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1); return [...pixel.getImageData(0, 0, 1, 1).data] };
  const over = (top, below) => below.map(
    (c, i) => i < 3 ? top[i] * top[3] / 255 + c * (1 - top[3] / 255) : 255);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.04045
    ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05) };
  const behind = e => e ? over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement))
    : [255, 255, 255, 255];
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || ['STYLE', 'TITLE', 'title'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const below = behind(svg ? e.ownerSVGElement : e);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    texts.push({text, needed: large ? 3 : 4.5,
      ratio: ratio(over(rgba(svg ? style.fill : style.color), below), below)});
  }
  const marks = [...document.querySelectorAll('.mark:not(.cell)')].map(e => ratio(
    rgba(getComputedStyle(e).borderTopColor), behind(e.parentElement)));
  const bars = [...document.querySelectorAll('.bar rect, .chart rect, .flow .left')].map(e => ratio(
    rgba(getComputedStyle(e).fill), behind(e.ownerSVGElement.parentElement)));
  return [texts, [...marks, ...bars]];
}"""
_CUT_OFF = """() => [...document.querySelectorAll('main *')].filter(e => !(e instanceof SVGElement)
    && getComputedStyle(e).overflowX === 'hidden' && e.scrollWidth > e.clientWidth + 1
    && e.offsetParent !== null).map(e => e.innerText)"""
_OVERLAPPING = """() => [...document.querySelectorAll('.ticks')].flatMap(axis => {
    const boxes = [...axis.children].filter(e => e.offsetParent !== null)
      .map(e => [e.innerText, e.getBoundingClientRect()]);
    return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([_, b]) =>
      a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)
      .map(([other]) => text + ' over ' + other)) })"""
_REACHABLE = """() => {
  const seen = selector => [...document.querySelectorAll(selector)]
    .filter(e => e.checkVisibility()).length;
  return {SUMMARY: seen('summary'), A: seen('a[href]'), map: seen('.plot'), BUTTON: seen('button'),
    scroll: seen('.scroll[tabindex]')}
}"""
_KIND_OF_FOCUS = """() => { const e = document.activeElement;
  return e === document.body ? null : e.classList.contains('mark') ? 'map'
    : e.classList.contains('scroll') ? 'scroll' : e.tagName }"""
