"""The public names: which there are, what help() says of them, and what importing them costs."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import pyhudi_expr as ph

#: Frozen: a name may be added here, but what programs use is not taken away or renamed.
NAMES = [
    "BeforeFirstCommit",
    "CorruptFile",
    "Explanation",
    "FilterError",
    "FilterNotApplicable",
    "HudiError",
    "HudiExpression",
    "InvalidType",
    "InvalidValue",
    "Plan",
    "PredicateSyntaxError",
    "PyHudiWarning",
    "Scan",
    "Table",
    "TableNotFound",
    "UnknownColumn",
    "UnsupportedTable",
    "__version__",
    "list_tables",
    "load_table",
    "scan",
    "table",
]
MEMBERS = {
    "Table": [
        *("audit", "column_ranges", "columns", "count", "explain", "files", "head", "history"),
        *("indexes", "instant", "name"),
        *("properties", "prune", "scan", "scan_async", "schema", "schema_at", "table_type"),
        *("to_pandas", "to_polars", "to_pyarrow_dataset", "uri", "version"),
    ],
    "Plan": [
        *("bytes_kept", "bytes_total", "explain", "files", "files_kept", "files_skipped"),
        *("files_total", "instant", "kept_paths", "kept_rows", "kept_uris", "notes"),
        *(
            "partitions_kept",
            "partitions_total",
            "predicate",
            "result",
            "skipped_by",
            "summary",
            "uri",
        ),
    ],
    "Explanation": ["plan", "to_dict", "to_html", "to_text", "tree"],
    "Scan": [
        *("batches", "count", "filter", "limit", "plan", "result", "schema", "select"),
        *("to_arrow", "to_dataset"),
        *("to_duckdb", "to_pandas", "to_polars", "to_reader", "to_table"),
    ],
}
PARAMETERS = {
    ph.table: ["path", "storage_options", "footers", "progress", "catalog_properties"],
    ph.load_table: ["name", "metastore", "storage_options", "footers", "progress"],
    ph.list_tables: ["database", "metastore"],
    ph.scan: [
        *("table", "filter", "columns", "as_of", "view", "dialect", "zone", "limit"),
        *("order_by", "progress", "meta", "pruner", "storage_options"),
    ],
    ph.Table.prune: [
        *("self", "predicate", "as_of", "since", "view", "dialect", "zone", "reader"),
    ],
    ph.Table.explain: [
        *("self", "predicate", "as_of", "since", "view", "dialect", "zone", "reader"),
    ],
    ph.Table.scan: [
        *("self", "predicate", "columns", "as_of", "limit", "view", "dialect", "zone"),
        *("order_by", "progress", "meta"),
    ],
    ph.Table.to_pyarrow_dataset: [
        *("self", "predicate", "as_of", "view", "dialect", "zone", "meta"),
    ],
    ph.Table.audit: ["self", "sample", "seed"],
    ph.Table.files: ["self", "as_of", "view"],
    ph.Table.schema_at: ["self", "as_of"],
    ph.Table.head: ["self", "n"],
    ph.Scan.filter: ["self", "predicate"],
    ph.Scan.select: ["self", "columns"],
    ph.Scan.limit: ["self", "n"],
    ph.Scan.to_duckdb: ["self", "name", "connection"],
}


def test_the_names_of_the_package_are_frozen() -> None:
    assert set(ph.__all__) <= set(NAMES)
    assert {name for name in dir(ph) if not name.startswith("__")} == set(NAMES) - {"__version__"}
    assert all(getattr(ph, name) is not None for name in NAMES)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_names_of_classes_are_frozen(name: str) -> None:
    kind = getattr(ph, name)
    known = {*dir(kind), *getattr(kind, "__dataclass_fields__", {})}
    assert sorted(one for one in known if not one.startswith("_")) == MEMBERS[name]


@pytest.mark.parametrize("function", PARAMETERS, ids=lambda one: one.__qualname__)
def test_the_names_of_parameters_are_frozen(function: object) -> None:
    assert list(inspect.signature(function).parameters) == PARAMETERS[function]


def test_every_public_name_is_documented() -> None:
    for name, members in MEMBERS.items():
        kind = getattr(ph, name)
        text = pydoc.plain(pydoc.render_doc(kind))
        for member in members:
            assert member in text, f"help(ph.{name}) does not show {member}"
            found = inspect.getattr_static(kind, member, None)
            assert found is None or inspect.getdoc(found), f"{name}.{member} has no docstring"
    for name in NAMES:
        assert inspect.getdoc(getattr(ph, name)), f"{name} has no docstring"


def test_help_of_the_package_shows_how_to_begin() -> None:
    text = pydoc.plain(pydoc.render_doc(ph))
    assert 'table = ph.table("/warehouse/trips")' in text
    assert "table(path: " in text
    assert "Open a Hudi table." in pydoc.plain(pydoc.render_doc(ph.table))


def test_every_exported_error_is_a_hudi_error() -> None:
    errors = [one for one in (getattr(ph, name) for name in NAMES) if _is_error(one)]
    assert len(errors) >= 8
    assert all(issubclass(one, ph.HudiError) for one in errors)
    assert issubclass(ph.InvalidType, TypeError)
    assert issubclass(ph.PyHudiWarning, UserWarning)


def _is_error(found: object) -> bool:
    is_class = isinstance(found, type) and issubclass(found, Exception)
    return is_class and not issubclass(found, Warning)


_IMPORT = """
import sys, time
before = set(sys.modules)
started = time.perf_counter()
import pyhudi_expr as ph
spent = time.perf_counter() - started
print(spent)
print([name for name in ("numpy", "pyarrow", "pandas", "sqlglot") if name in sys.modules])
import pyhudi_expr.errors
assert ph.table.__name__ == "table" and ph.HudiError is pyhudi_expr.api.display.HudiError
"""


def test_importing_the_package_imports_no_other_one() -> None:
    command = [sys.executable, "-c", _IMPORT]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    spent, modules = ran.stdout.splitlines()
    assert modules == "[]"
    assert float(spent) < 1  # a millisecond or two, on a machine that does nothing else


_FIRST_ANSWER = """
import sys
import pyhudi_expr as ph
ph.table(sys.argv[1])
print([name for name in ("pandas", "polars", "duckdb", "rich", "jinja2") if name in sys.modules])
"""


def test_opening_a_table_imports_no_optional_package(golden: Mapping[str, Path]) -> None:
    command = [sys.executable, "-c", _FIRST_ANSWER, str(golden["cow_v9_txns_simple_meta"])]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(eval(ran.stdout)) <= {"pandas"}  # noqa: S307  pyarrow.compute imports it
