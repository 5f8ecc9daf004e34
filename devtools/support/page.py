"""The page of engines and features, `docs/support.md`, of recorded results of tests.

`python -m devtools.support.page FILE...` records pytest's JUnit XML and writes the page. The names
of the files say of which engine they are: `hive-4.2.xml`, `hive-4.2-joins.xml`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from devtools.runtime import ROOT
from devtools.support.engines import TABLES, Engine, Feature, Table

PAGE = ROOT / "docs" / "support.md"
RECORDED = Path(__file__).with_name("results.json")

Outcomes = Mapping[str, int]
"""Numbers of cases by "passed", "failed" and "skipped"."""
Results = Mapping[str, Mapping[str, Outcomes]]
"""The outcomes of test functions (`tests/x/test_y.py::test_z`), by the name of the engine."""

_ENGINES = tuple(engine for table in TABLES for engine in table.engines)
_HEAD = """\
# Engines and features

Each number is that of the test cases that passed with this engine, in the runs that were recorded
last; — means that no result is recorded: the engine lacks the feature
([versions of Hive](hive.md#versions-of-hive)), or its tests were not run with it yet. `make
support-page` records the results that the commands leave in `.work/results`, and writes this page.
"""


def outcomes(files: Sequence[Path]) -> Results:
    """Return the outcomes in files of JUnit XML, of several files for one engine together."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for file in files:
        for engine in _ENGINES:
            if not file.name.startswith(engine.results):
                continue
            for test, case, outcome in _cases(file):
                if engine.case in ("", case):
                    tests = found.setdefault(engine.name, {})
                    tests.setdefault(test, Counter())[outcome] += 1
    return found


def _cases(file: Path) -> Iterator[tuple[str, str, str]]:
    """Return the function, the parameters and the outcome of each case."""
    for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314  pytest has written it
        function, _, parameters = case.attrib["name"].partition("[")
        module = case.attrib["classname"].replace(".", "/") + ".py"
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "passed"
        outcome = "skipped" if "skipped" in kinds else outcome
        yield f"{module}::{function}", parameters.rstrip("]"), outcome


def merged(recorded: Results, new: Results) -> Results:
    """Return the results with the new ones of each function in the place of the older ones."""
    return {
        engine.name: {**recorded.get(engine.name, {}), **new.get(engine.name, {})}
        for engine in _ENGINES
        if engine.name in recorded or engine.name in new
    }


def page(results: Results) -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *(_table(table, results) for table in TABLES)])


def _table(table: Table, results: Results) -> str:
    names = " | ".join(engine.name for engine in table.engines)
    tested = " | ".join(engine.tested for engine in table.engines)
    lines = [
        f"## {table.title}\n",
        f"| | {names} | tests, in `{table.tests}` |",
        "|---" * (len(table.engines) + 2) + "|",
        f"| tested with | {tested} | {', '.join(f'`{each}`' for each in table.commands)} |",
    ]
    for feature in table.features:
        cells = " | ".join(_cell(engine, feature, results) for engine in table.engines)
        tests = ", ".join(f"`{test.removeprefix(table.tests)[1:]}`" for test in feature.tests)
        lines.append(f"| {feature.name} | {cells} | {tests} |")
    return "\n".join([*lines, ""])


def _cell(engine: Engine, feature: Feature, results: Results) -> str:
    total: Counter[str] = Counter()
    for function, counts in results.get(engine.name, {}).items():
        if function in feature.tests or function.partition("::")[0] in feature.tests:
            total.update(counts)
    run = total["passed"] + total["failed"]
    if total["failed"]:
        return f"**{total['failed']} of {run} failed**"
    return str(run) if run else "—"


def read() -> Results:
    """Return the recorded results."""
    found: Results = json.loads(RECORDED.read_text())
    return found


def main() -> None:
    """Record the results in the files that the command line names, and write the page."""
    parser = argparse.ArgumentParser(prog="devtools.support.page", description=main.__doc__)
    parser.add_argument("results", nargs="*", type=Path, help="of pytest, by --junitxml")
    results = merged(read(), outcomes(parser.parse_args().results))
    RECORDED.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
