"""The site's reference includes the modules that programs in the documents import."""

import ast
import importlib
from collections.abc import Iterator

import pytest

import pyhudi_expr
from tests.docs.documents import ROOT, pieces, tree

_SITE = ROOT / "devtools" / "docs_site.py"


def modules() -> set[str]:
    """The modules of the reference; mkdocs, which the file imports, is not needed."""
    for node in ast.parse(_SITE.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_REFERENCE":
            pages = ast.literal_eval(node.value).values()
            return {f"pyhudi_expr.{module}" for _, names in pages for module in names}
    raise LookupError("_REFERENCE")


def imported() -> Iterator[tuple[str, str]]:
    """Each name that a program in a document imports, and the module that defines it."""
    yield "scan", pyhudi_expr.scan.__module__
    for piece in pieces(kind="python"):
        for node in ast.walk(tree(piece.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyhudi_expr"):
                module = importlib.import_module(node.module or "")
                for one in node.names:
                    yield one.name, getattr(module, one.name).__module__


@pytest.mark.parametrize(("name", "module"), sorted(set(imported())))
def test_imported_names_are_in_the_reference(name: str, module: str) -> None:
    assert module in modules()


@pytest.mark.parametrize("module", sorted(modules()))
def test_the_references_modules_exist(module: str) -> None:
    assert importlib.import_module(module).__doc__
