"""The changelog: its newest version is the built one, and it names every command."""

import re
from importlib.metadata import version

import click

from pyhudi_expr.cli.main import cli
from tests.docs.documents import ROOT

_TEXT = (ROOT / "CHANGELOG.md").read_text()


def test_the_newest_version_is_the_built_one():
    newest = re.findall(r"^## (\d+\.\d+\.\d+)\b", _TEXT, re.MULTILINE)[0]
    handler = (ROOT / "handler-java" / "pom.xml").read_text()
    assert re.search(r"^  <version>(.+)</version>$", handler, re.MULTILINE).group(1) == newest
    assert version("pyhudi-expr") == newest


def test_the_changelog_names_every_command():
    listed = re.search(r"^\*\*The command line\*\*: (.*?)\.$", _TEXT, re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([\w -]+)`", listed.group(1))
    assert sorted(named) == sorted(cli.list_commands(click.Context(cli)))
