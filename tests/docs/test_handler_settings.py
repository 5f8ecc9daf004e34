"""The document's table of the handler's settings is complete, with their defaults."""

import re

from tests.docs.documents import ROOT

_DOCUMENT = ROOT / "docs" / "settings.md"
_MAIN = ROOT / "handler-java" / "src" / "main"
_CONSTANT = re.compile(r'static final String (\w+) = "(hudi\.[\w.]+)";')
_ROW = re.compile(r"^\| `(hudi\.[\w.]+)` \| (\S+) \| .+ \|$", re.MULTILINE)


def source(name):
    return (_MAIN / "java/io/pyhudi/hive" / name).read_text()


def constants(name):
    """The settings of a class, by their names in Java."""
    return dict(_CONSTANT.findall(source(name)))


def test_all_settings_are_documented_with_their_defaults():
    names = constants("PruningSettings.java")
    put = re.findall(r'defaults\.put\((\w+), "(.*)"\);', source("PruningSettings.java"))
    defaults = {names[name]: value for name, value in put}
    assert set(defaults) == set(names.values())
    rows = _ROW.findall(_DOCUMENT.read_text())
    assert {name: "" if text == "none" else text.strip("`") for name, text in rows} == defaults


def test_settings_of_sessions_and_tables_are_documented():
    names = constants("PruningSettings.java")
    text = " ".join(_DOCUMENT.read_text().split())
    assert all(f"`{name}`" in text for name in constants("AdministratorSettings.java").values())
    listed = source("AdministratorSettings.java").partition("HARMLESS =")[2].partition(";")[0]
    harmless = [names[name] for name in re.findall(r"PruningSettings\.(\w+)", listed)]
    by_default = text.partition("By default both are ")[2].partition(":")[0]
    assert re.findall(r"`([\w.]+)`", by_default) == harmless


def test_no_other_setting_is_read_anywhere():
    known = {
        *constants("PruningSettings.java").values(),
        *constants("AdministratorSettings.java").values(),
    }
    for file in _MAIN.rglob("*.java"):
        used = re.findall(r'"(hudi\.(?:pruning\.[\w.]+|view))"', file.read_text())
        assert set(used) <= known, file
