"""The dependencies that users install: complete, and under permissive licences."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError

import pytest

from devtools.packages import needed

#: Permissive, or (MPL) binding only for changes of the package itself.
ALLOWED = re.compile(
    r"Apache|MIT|BSD|ISC|Python Software Foundation|PSF|MPL|Mozilla|Zlib|0BSD|CNRI|Unlicense", re.I
)
#: Extras for users, not for developers of the project.
EXTRAS = ("service", "spark", "hive", "pictures")


def licences(package: Distribution) -> list[str]:
    """A package's statements about its licence, the most exact first."""
    names = [package.metadata["License-Expression"]]
    classifiers = package.metadata.get_all("Classifier") or []
    names += [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    names.append((package.metadata["License"] or "").partition("\n")[0])
    return [one for one in names if one]


def test_every_package_has_a_licence_that_allows_any_use() -> None:
    found = {one.metadata["Name"]: licences(one) for one in needed("pyhudi-expr", EXTRAS)}
    assert len(found) > 20
    wrong = {
        name: names
        for name, names in found.items()
        if not ALLOWED.search(" ".join(names)) or re.search(r"\bA?GPL", " ".join(names))
    }
    assert not wrong


def test_each_extra_declares_its_packages() -> None:
    def names(*extras: str) -> set[str]:
        return {one.metadata["Name"].lower() for one in needed("pyhudi-expr", extras)}

    assert {"pyhudi-expr", "pyarrow", "numpy"} <= names()
    assert not {"pyspark", "structlog", "click"} & names()
    assert {"structlog", "click"} <= names("service")
    assert "pyspark" in names("spark")


def test_missing_packages_are_named() -> None:
    with pytest.raises(PackageNotFoundError, match="no-such-package"):
        list(needed("no-such-package"))
