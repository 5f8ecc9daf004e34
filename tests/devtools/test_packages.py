"""What users install with the project: all of it, and under licences that allow any use."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import pytest

from devtools.packages import copy, needed

#: Permissive, or (MPL) binding only those who change the package itself.
ALLOWED = re.compile(
    r"Apache|MIT|BSD|ISC|Python Software Foundation|PSF|MPL|Mozilla|Zlib|0BSD|CNRI|Unlicense", re.I
)
#: Extras that are for users, not for those who work on the project.
EXTRAS = ("service", "spark", "hive", "substrait", "pictures")


def licences(package: Distribution) -> list[str]:
    """What a package says of its licence, the most exact first."""
    said = [package.metadata["License-Expression"]]
    classifiers = package.metadata.get_all("Classifier") or []
    said += [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    said.append((package.metadata["License"] or "").partition("\n")[0])
    return [one for one in said if one]


def test_every_package_has_a_licence_that_allows_any_use() -> None:
    found = {one.metadata["Name"]: licences(one) for one in needed("pyhudi-expr", EXTRAS)}
    assert len(found) > 20
    wrong = {
        name: said
        for name, said in found.items()
        if not ALLOWED.search(" ".join(said)) or re.search(r"\bA?GPL", " ".join(said))
    }
    assert not wrong


def test_an_extra_brings_what_it_needs_and_no_other_does() -> None:
    def names(*extras: str) -> set[str]:
        return {one.metadata["Name"].lower() for one in needed("pyhudi-expr", extras)}

    assert {"pyhudi-expr", "pyarrow", "numpy"} <= names()
    assert not {"pyspark", "structlog", "click"} & names()
    assert {"structlog", "click"} <= names("service")
    assert "pyspark" in names("spark")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(PackageNotFoundError, match="no-such-package"):
        list(needed("no-such-package"))


def test_a_copy_holds_the_project_and_no_build_of_this_environment(tmp_path: Path) -> None:
    copy(tmp_path / "site", ("service",))
    site = tmp_path / "site"
    assert (site / "pyhudi_expr" / "cli" / "__main__.py").is_file()
    assert (site / "click" / "__init__.py").is_file()
    assert not list(site.rglob("*.pyc"))
    assert not list(site.glob("*.pth"))
