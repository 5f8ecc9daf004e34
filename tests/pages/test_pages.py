"""Pages: their content; they load no other resources."""

import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.layout.analysis import analyze
from pyhudi_expr.pages.drawings import draw_files, draw_timeline
from pyhudi_expr.pages.explanation import explain_page
from pyhudi_expr.pages.layouts import layouts_page
from pyhudi_expr.pages.render import megabytes
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.table.hudi_table import HudiTable
from tests.layout.tables import rows as table_rows
from tests.layout.tables import split, written
from tests.pages.page_cells import rows

_VOID = {"meta"}


class WellFormed(HTMLParser):
    """Fails for an element that is not closed, or closed by another."""

    def __init__(self):
        super().__init__()
        self.open, self.classes, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.classes += (found.get("class") or "").split()
        self.links += [found[name] for name in ("src", "href") if name in found]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.classes += (dict(attrs).get("class") or "").split()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(content):
    parser = WellFormed()
    parser.feed(content)
    assert not parser.open
    assert not parser.links
    assert "url(" not in content
    assert "<script" not in content
    return parser


def explained(golden, name, predicate):
    path = str(golden[name])
    result = Pruner().prune(path, PruneRequest(parse_predicate(predicate)))
    instants = HudiTable.open(path).timeline.instants
    return result, explain_page(path, predicate, result, result.explain(), instants)


PREDICATES = {
    "two columns": "txn_id < 'TXN-010' AND amount > 100",
    "one column": "txn_id = 'TXN-017'",
    "or": "region = 'us' OR NOT (txn_id > 'TXN-002')",
    "nothing known": "sqrt(amount) > 2",
    "markup": "merchant_name = '<script>alert(1)</script>'",
    "never": "region = 'mars'",
}


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
@pytest.mark.parametrize("page_name", PREDICATES)
def test_the_page_of_a_predicate_agrees_with_the_result(golden, name, page_name):
    result, content = explained(golden, name, PREDICATES[page_name])
    page = parsed(content)
    assert f"{result.files_kept:,} of {result.files_total:,}" in content
    top = result.explain()
    assert f"rules out {top.excluded:,} of {top.files:,} files" in content
    assert content.count("<details") == nodes(top)
    assert page.classes.count("write") + page.classes.count("other") >= 2


def test_each_part_names_its_indexes_and_their_limits(golden):
    result, content = explained(golden, "cow_v9_txns_simple_meta", PREDICATES["two columns"])
    texts_found = [
        [answer.index, f"{answer.files:,}", megabytes(answer.bytes), answer.reason or ""]
        for node in (result.explain(), *result.explain().children)
        for answer in node.answers
        if answer.files or answer.reason
    ]
    assert any(files != "0" for _, files, _, _ in texts_found)
    assert any(reason for _, _, _, reason in texts_found)
    header = ["index", "files", "size", "what it lacks"]
    assert [row for row in rows(content) if len(row) == 4 and row != header] == texts_found


def test_layouts_are_compared_by_bytes_and_files_of_each_predicate(tmp_path):
    """Files of unequal size, so that numbers and bytes differ."""
    one, other = table_rows(4_000, 1), table_rows(400, 2)
    path = written(tmp_path / "table", {"p": [*split(one, 2), *split(other, 6)]})
    predicates = ("a < 1000", "b < 'https://www.example.com/100000'")
    found = analyze(path, list(map(parse_predicate, predicates)))
    content = layouts_page(found, predicates, [])
    shares = {
        "today" if each.layout is None else str(each.layout): [
            f"{share:.1%}" for share in (each.mean_bytes, *each.files)
        ]
        for each in (found.today, *found.candidates)
    }
    assert {row[0]: row[1:] for row in rows(content) if row[0] in shares} == shares
    assert found.today.mean_bytes != found.today.mean_files
    today, best, *_ = (re.findall("<rect [^>]*>", part) for part in content.split("<figure>")[1:])
    assert len(today) == 1 + 8  # the frame
    assert today != best


def test_the_files_that_each_predicate_reads_are_marked_before_and_after(tmp_path):
    path = written(tmp_path / "table", {"p": split(table_rows(4_000), 8)})
    predicates = ("a < 1000 AND b < 'https://www.example.com/100000'", "a > 10000000")
    found = analyze(path, list(map(parse_predicate, predicates)))
    instants = HudiTable.open(path).timeline.instants
    content = layouts_page(found, predicates, instants)
    parsed(content)
    assert content.count("<details") == sum(nodes(each.explain()) for each in found.results)
    best = found.candidates[0]
    figures = content.split("<figure>")[1:]
    for number in range(2):
        for layout, drawn in zip((None, best.layout), figures[2 * number :], strict=False):
            reads = found.reads(found.tiling(layout))[number]
            assert drawn.count('<rect class="kept"') == reads.sum()
            assert drawn.count('<rect class="dropped"') == (~reads).sum()
        assert found.reads(found.tiling(best.layout))[number].mean() == best.files[number]
    assert best.files[0] < found.today.files[0]
    assert content.count("<circle") == len(instants) == 1
    assert ">pruned<" in content


def nodes(explanation):
    return 1 + sum(map(nodes, explanation.children))


def test_files_of_two_columns_are_rectangles_and_read_ones_are_marked(golden):
    result, content = explained(golden, "cow_v9_txns_simple_meta", PREDICATES["two columns"])
    kinds = re.findall(r'<rect class="(kept|dropped)"', content)
    assert 0 < kinds.count("kept") <= result.files_kept
    assert len(kinds) <= result.files_total
    assert {"txn_id", "amount"} <= set(re.findall(r">(\w+) →<", content))


def test_a_rectangle_spans_its_files_bounds_and_is_marked_if_read(tmp_path):
    """Four files with tens of `a`, and of `b` in reverse: ranks from 0 to 7."""
    crossed = pa.table({"a": np.arange(40), "b": np.arange(40)[::-1]})
    path = written(tmp_path / "table", {"p": split(crossed, 4)})
    options = PruneOptions(footers=True, footer_wait=600.0)
    condition = "a BETWEEN 10 AND 15 AND b > 0"
    result = Pruner(options).prune(path, PruneRequest(parse_predicate(condition)))
    content = explain_page(
        path, condition, result, result.explain(), HudiTable.open(path).timeline.instants
    )
    drawn = re.findall(
        r'<rect class="(kept|dropped)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', content
    )
    found = {
        tuple(
            round(7 * value / 360) for value in (float(x) - 24, float(y) - 24, float(width))
        ): kind
        for kind, x, y, width in drawn
    }
    assert found == {
        (0, 0, 1): "dropped",
        (2, 2, 1): "kept",
        (4, 4, 1): "dropped",
        (6, 6, 1): "dropped",
    }
    (pruned,) = re.findall(r'<text x="(\d+)" y="52" text-anchor="middle">pruned', content)
    assert f'cx="{pruned}"' in content


def test_of_many_files_some_are_drawn_and_read_ones_always():
    count = 10_000
    edges = np.linspace(0, 0.9, count)
    boxes = np.stack([edges, edges + 0.1, edges, edges + 0.1], axis=1)
    kept = np.arange(count) % 100 == 0
    drawing = draw_files("many", ("a", "b"), boxes, kept)
    assert [each.kept for each in drawing.rectangles] == [False] * 3900 + [True] * 100
    assert drawing.omitted == 6_000


def test_pending_instants_are_marked_as_such(golden, tmp_path):
    table = shutil.copytree(golden["mor_v9_txns_simple_meta"], tmp_path / "table")
    pending = "20990101000000000"
    (table / ".hoodie" / "timeline" / f"{pending}.deltacommit.requested").touch()
    *others, last = draw_timeline(HudiTable.open(str(table)).timeline.instants, None).marks
    assert (last.kind, last.name) == ("pending", f"{pending} deltacommit, requested")
    assert "pending" not in {mark.kind for mark in others}


def test_the_commands_write_pages(golden, tmp_path, capsys):
    table = str(golden["cow_v9_txns_simple_meta"])
    page = tmp_path / "explain.html"
    assert main(["explain", table, "region = 'us'", "--html", str(page)]) == 0
    parsed(page.read_text())
    predicates = ["--predicate", "txn_id < 'TXN-010'", "--predicate", "amount > 100"]
    page = tmp_path / "layouts.html"
    assert main(["layout", "analyze", table, *predicates, "--html", str(page)]) == 0
    content = page.read_text()
    parsed(content)
    assert content.count("<figure>") == 4  # two predicates, today and the best layout
    assert content.count("<circle") == len(HudiTable.open(table).timeline.instants)
    assert main(["explain", table, "true", "--html", str(tmp_path / "no" / "page")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def explanation(golden):
    return explained(golden, "cow_v9_txns_simple_meta", PREDICATES["two columns"])[1]


def layouts(golden):
    predicates = ("txn_id < 'TXN-010'", "amount > 100", "txn_id > 'TXN-015' AND amount < 50")
    table = str(golden["cow_v9_txns_simple_meta"])
    instants = HudiTable.open(table).timeline.instants
    found = analyze(table, list(map(parse_predicate, predicates)))
    return layouts_page(found, predicates, instants)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("page_of", [explanation, layouts])
def test_a_page_in_a_browser_by_keyboard_light_and_dark(page_of, chromium, golden, tmp_path):
    (tmp_path / "page.html").write_text(page_of(golden))
    looks = set()
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme, viewport={"width": 360, "height": 700})
        requested_urls: list[str] = []
        page.on(
            "request",
            lambda request, requested_urls=requested_urls: requested_urls.append(request.url),
        )
        page.goto((tmp_path / "page.html").as_uri())
        looks.add(page.evaluate(_COLOURS))
        assert len(requested_urls) == 1  # it loads nothing else
        # On a phone nothing is wider than the page, except elements that scroll themselves.
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert by_keyboard(page) == (page.locator("details").count(), page.evaluate(_WIDE))
        page.close()
    assert len(looks) == 2


_COLOURS = """[document.body, ...document.querySelectorAll('rect')].map(e => JSON.stringify([
    getComputedStyle(e).color, getComputedStyle(e).backgroundColor, getComputedStyle(e).stroke])
    ).join()"""
_WIDE = (
    "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
)


def by_keyboard(page):
    """The numbers of sections folded and tables scrolled, from the first to the last Tab stop."""
    folded = moved = 0
    for _ in range(200):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            "document.activeElement === document.body ? null"
            " : [document.activeElement.tagName, document.activeElement.scrollWidth"
            " - document.activeElement.clientWidth]"
        )
        if stop is None:
            return folded, moved
        if stop[0] == "SUMMARY":
            page.keyboard.press("Enter")
            open_ = "document.activeElement.parentElement.hasAttribute('open')"
            folded += not page.evaluate(open_)
            page.keyboard.press("Enter")
        elif stop[1] > 0:
            page.keyboard.press("ArrowRight")
            page.wait_for_function("document.activeElement.scrollLeft > 0", timeout=5_000)
            moved += 1
    raise AssertionError("Tab goes round for ever")
