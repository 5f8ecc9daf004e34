"""Pages: their content; they load no other resources."""

import html
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.api.pages.explanation import explain_page
from pyhudi_expr.api.pages.layouts import ESTIMATED, layouts_page
from pyhudi_expr.api.pages.regions import ranges_of
from pyhudi_expr.api.pages.render import megabytes
from pyhudi_expr.api.pages.trends import draw_timeline
from pyhudi_expr.cli.main import main
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.layout.analysis import analyze
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.api.pages.documents import parsed
from tests.api.pages.page_cells import rows
from tests.manage.layout.tables import rows as table_rows
from tests.manage.layout.tables import split, written


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
    assert not page.links
    skipped = result.files_total - result.files_kept
    share = f"{skipped / result.files_total:.1%}"
    assert f"<h1>{skipped} of {result.files_total} files skipped, {share};" in content
    for leaf in leaves(result.explain()):
        assert f"{leaf.left:,} left" in content
    assert page.classes.count("write") + page.classes.count("other") >= 2


def test_each_leaf_of_the_predicate_is_shown_once(golden):
    result, content = explained(
        golden,
        "cow_v9_txns_simple_meta",
        "region = 'us' AND (txn_id < 'TXN-010' OR NOT (amount > 100 OR amount < 5))",
    )
    shown = re.findall(r'<span class="what"><code>(.*?)</code>', content)
    expected = [
        ("NOT " if each.negated else "") + each.predicate for each in leaves(result.explain())
    ]
    assert list(map(html.unescape, shown)) == expected
    assert len(expected) == 4


def test_a_contradiction_leaves_nothing_together(golden):
    content = explained(golden, "cow_v9_txns_simple_meta", "txn_id = 'a' AND txn_id = 'b'")[1]
    assert "no row can match it" in content
    assert content.count("0 left") == 1
    assert content.index("together") < content.index("0 left")


def test_an_index_that_was_not_asked_is_named(golden):
    result, content = explained(golden, "cow_v9_txns_simple_meta", "txn_id = 'TXN-017'")
    assert result.unasked
    for index in result.unasked:
        assert html.escape(f"{index.name} was not asked: {index.reason}") in content


def test_columns_of_the_user_are_drawn_before_those_of_hudi(golden):
    result, _ = explained(
        golden, "cow_v9_txns_simple_meta", "txn_id = 'TXN-017' AND amount > 1 AND region = 'us'"
    )
    names = [ranges.column.name for ranges in ranges_of(result)]
    assert len(names) > 2
    assert names[-1] == "_hoodie_record_key"


def test_each_leaf_names_its_indexes_and_their_limits(golden):
    result, content = explained(golden, "cow_v9_txns_simple_meta", PREDICATES["two columns"])
    texts_found = [
        [answer.index, f"{answer.files:,}", megabytes(answer.bytes), answer.reason or ""]
        for leaf in leaves(result.explain())
        for answer in leaf.answers
        if answer.files or answer.reason
    ]
    assert any(files != "0" for _, files, _, _ in texts_found)
    assert any(reason for _, _, _, reason in texts_found)
    header = ["index", "files", "size", "what it lacks"]
    assert [row for row in rows(content) if len(row) == 4 and row != header] == texts_found


def test_each_index_is_shown_with_what_it_skipped_after_those_before_it(golden):
    result, content = explained(golden, "cow_v9_txns_simple_meta", PREDICATES["two columns"])
    skipped = {row[0]: row[1] for row in rows(content) if len(row) == 3}
    assert skipped.pop("index") == "files skipped"
    assert {name: int(files) for name, files in skipped.items() if files != "0"} == (
        result.dropped_by
    )
    assert sum(result.dropped_by.values()) == result.files_total - result.files_kept


def test_a_mark_has_the_name_of_its_file_its_ranges_and_whether_it_is_read(tmp_path):
    crossed = pa.table({"a": np.arange(40), "b": np.arange(40)[::-1]})
    path = written(tmp_path / "table", {"p": split(crossed, 4)})
    options = PruneOptions(footers=True, footer_wait=600.0)
    condition = "a BETWEEN 10 AND 15 AND b > 0"
    result = Pruner(options).prune(path, PruneRequest(parse_predicate(condition)))
    content = explain_page(path, condition, result, result.explain(), [])
    names = result.listing.paths(np.arange(4))
    expected = [
        f"{name}; : {'read' if first == 10 else 'skipped'}; a: {first} to {first + 9};"
        f" b: {30 - first} to {39 - first}"
        for name, first in zip(names, (0, 10, 20, 30), strict=True)
    ]
    labels = re.findall(r'<input type="radio"[^>]*aria-label="([^"]*)"', content)
    assert [label.rpartition(";")[0] for label in labels] == expected


def test_texts_of_tables_and_predicates_are_escaped(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    rows_of_table = pa.table(
        {evil: np.arange(40), "b": pa.array([f"{evil}{n:02}" for n in range(40)])}
    )
    path = written(tmp_path / "table", {evil: split(rows_of_table, 4)})
    predicate = f"`{evil}` BETWEEN 10 AND 15 AND b > '{evil}'"
    options = PruneOptions(footers=True, footer_wait=600.0)
    result = Pruner(options).prune(path, PruneRequest(parse_predicate(predicate)))
    content = explain_page(evil, predicate, result, result.explain(), [])
    parsed(content)
    assert content.count("&lt;img src=x onerror=alert(1)&gt;") > 20
    assert result.files_kept == 1


def test_layouts_are_compared_by_the_bytes_of_each_predicate(tmp_path):
    """Files of unequal size, so that numbers and bytes differ."""
    one, other = table_rows(4_000, 1), table_rows(400, 2)
    path = written(tmp_path / "table", {"p": [*split(one, 2), *split(other, 6)]})
    predicates = ("a < 1000", "b < 'https://www.example.com/100000'")
    found = analyze(path, list(map(parse_predicate, predicates)))
    content = layouts_page(found, predicates, [])
    shown = {row[0]: row[1:] for row in rows(content) if len(row) == 4 and row[1].endswith("%")}
    today = found.today
    named = [("today", today), (ESTIMATED, found.estimated)]
    named += [(str(each.layout), each) for each in found.candidates]
    assert shown == {
        name: [
            f"{each.mean_bytes:.1%}",
            *(
                f"▲ {share:.1%}" if share > now else f"{share:.1%}"
                for share, now in zip(each.bytes, today.bytes, strict=True)
            ),
        ]
        for name, each in named
    }
    best = found.candidates[0]
    changes = [row for row in rows(content) if row[0] in ("Q1", "Q2")]
    for row, text, now, then in zip(changes, predicates, today.bytes, best.bytes, strict=True):
        assert row[1:4] == [text, f"{now:.1%}", f"{then:.1%}"]
        assert ("reads more" in row[4]) == (then > now)


def test_queries_that_a_layout_worsens_are_marked(tmp_path):
    by_a = pa.table({"a": np.arange(4_000), "b": np.random.default_rng(1).permutation(4_000)})
    path = written(tmp_path / "table", {"p": split(by_a, 8)})
    predicates = ("b < 100", "b > 3900", "a = 7")
    found = analyze(path, list(map(parse_predicate, predicates)))
    content = layouts_page(found, predicates, [])
    assert "; 1 of 3 queries would read more</h1>" in content
    assert [row[0] for row in rows(content) if "reads more" in row[-1]] == ["Q3"]


def test_the_files_that_each_predicate_reads_are_marked_before_and_after(tmp_path):
    path = written(tmp_path / "table", {"p": split(table_rows(4_000), 8)})
    predicates = ("a < 1000 AND b < 'https://www.example.com/100000'", "a > 10000000")
    found = analyze(path, list(map(parse_predicate, predicates)))
    instants = HudiTable.open(path).timeline.instants
    content = layouts_page(found, predicates, instants)
    assert not parsed(content).links
    best = found.candidates[0]
    figures = content.split("<figure")[1:]
    assert len(figures) == 4
    for number in range(2):
        for layout, drawn in zip((None, best.layout), figures[2 * number :], strict=False):
            reads = found.reads(found.tiling(layout))[number]
            assert drawn.count('class="mark kept"') == reads.sum()
            assert drawn.count('class="mark dropped"') == (~reads).sum()
            assert f"{reads.sum()} of 8 files read</h3>" in drawn
        today, then = (re.findall(r'<div class="ticks.*?</div>', one) for one in figures[:2])
        assert today == then  # the same axes
    assert best.files[0] < found.today.files[0]
    assert content.count("<circle") == len(instants) == 1


def leaves(explanation):
    if not explanation.children:
        return [explanation]
    return [leaf for child in explanation.children for leaf in leaves(child)]


def test_pending_instants_are_marked_as_such(golden, tmp_path):
    table = shutil.copytree(golden["mor_v9_txns_simple_meta"], tmp_path / "table")
    pending = "20990101000000000"
    (table / ".hoodie" / "timeline" / f"{pending}.deltacommit.requested").touch()
    *others, last = draw_timeline(HudiTable.open(str(table)).timeline.instants, None).marks
    assert (last.kind, last.name) == ("pending", f"{pending} deltacommit, requested")
    assert "pending" not in {mark.kind for mark in others}


def test_the_instant_that_was_read_is_marked(golden):
    result, content = explained(golden, "mor_v9_txns_simple_meta", PREDICATES["one column"])
    (place,) = re.findall(r'<text x="(\d+)" y="52" text-anchor="middle">read', content)
    (name,) = re.findall(rf'cx="{place}" [^>]*><title>(\d+) ', content)
    assert name == result.instant


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
    assert content.count("<figure") == 4  # two predicates, today and the best layout
    assert content.count("<circle") == len(HudiTable.open(table).timeline.instants)
    assert main(["explain", table, "true", "--html", str(tmp_path / "no" / "page")]) == 1
    assert "cannot be written" in capsys.readouterr().err
