"""Hooks of mkdocs: pages made of files outside docs/, and links to them.

Documents link to each other as files of the repository, so that the links also work there.
"""

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from pyhudi_expr.cli.main import cli

_ROOT = Path(__file__).parents[1]
_IDL = "handler-java/src/main/thrift/pruning.thrift"
_DOCUMENTS = {
    "handler-java/README.md": "handler.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_PAGES = {**_DOCUMENTS, _IDL: "protocol.md", "README.md": "index.md"}
_SOURCES = {page: source for source, page in _DOCUMENTS.items()}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"(!\[[^\]]*\]\()docs/")
#: Modules that programs import, by page; all others may change at any time.
_REFERENCE = {
    "reference/api.md": (
        "The Python API",
        ("api.functions", "api.table", "api.scan", "api.plan"),
    ),
    "reference/tables.md": (
        "Tables and pruning",
        (
            "index.prune",
            "index.explanation",
            "rows.scan",
            "tables.hudi_table",
            "tables.storage.process_options",
            "errors",
        ),
    ),
    "reference/predicates.md": (
        "Predicates",
        (
            "expr.frontend.sql.plain",
            "expr.frontend.sql.parser",
            "expr.frontend.arrow.filter_lists",
            "expr.frontend.arrow.expressions",
            "expr.frontend.spark.catalyst",
            "expr.nodes",
            "expr.bind",
            "index.statistics.parquet_footers",
            "expr.backend.sql",
            "expr.backend.arrow",
            "expr.backend.index_filter",
        ),
    ),
    "reference/layouts.md": (
        "Layouts",
        (
            "manage.layout.analysis",
            "manage.layout.row_order",
            "manage.layout.curves",
            "manage.layout.selection",
        ),
    ),
    "reference/spark.md": (
        "PySpark",
        (
            "spark.indexes",
            "manage.indexing.writer_options",
            "spark.session",
            "spark.query.dataframes",
            "spark.query.index_table",
            "spark.query.predicates",
            "spark.clustering.layout_frames",
            "spark.clustering.clustering",
            "spark.virtual_keys.writing",
            "spark.virtual_keys.key_column",
            "tables.keys.definition",
            "tables.keys.generators",
        ),
    ),
    "reference/service.md": ("The service's client", ("protocol.client",)),
}
#: Modules whose docstrings describe the bytes of a table.
_FORMATS = {
    "The table": (
        "tables.properties",
        "tables.timeline",
        "tables.hudi_names",
        "tables.file_slices",
    ),
    "The metadata table": (
        "tables.mdt.store.group_files",
        "tables.mdt.lost_files",
        "tables.mdt.hfile.reader",
        "tables.mdt.hfile.blocks",
        "tables.mdt.log_files",
        "tables.mdt.bytes.keys",
        "tables.mdt.records.payloads",
        "tables.mdt.store.index_records",
        "tables.mdt.records.bloom_filter",
    ),
    "Our own files": (
        "tables.mdt.extension_changes",
        "tables.mdt.extension",
        "tables.mdt.store.disk_cache",
    ),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose text is elsewhere."""
    for source, page in _DOCUMENTS.items():
        _add(files, config, page, (_ROOT / source).read_text())
    _add(files, config, "protocol.md", _protocol())
    for page, (title, modules) in _REFERENCE.items():
        _add(files, config, page, _reference(title, modules))
    _add(files, config, "formats.md", _formats())
    _add(files, config, "commands.md", _commands(cli, click.Context(cli, info_name="pyhudi")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Redirect links that leave docs/ to the page made of that file; others become plain text."""
    place = page.file.src_uri
    source = _SOURCES.get(place, f"docs/{place}")

    def led(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        within = file.removeprefix("docs/")
        known = _PAGES.get(file) or (within if within != file else None)
        if known is None:
            return text
        return f"[{text}]({known}{'#' + anchor if anchor else ''})"

    return _LINK.sub(led, _PICTURE.sub(r"\1", markdown))


def _add(files: Files, config: MkDocsConfig, page: str, content: str) -> None:
    files.append(File.generated(config, page, content=content))


def _protocol() -> str:
    return (
        "# Protocol\n\nThe Thrift definition that both sides are generated from, framed transport"
        f" and strict binary protocol.\n\n```thrift\n{(_ROOT / _IDL).read_text()}```\n"
    )


def _commands(command: click.Command, context: click.Context) -> str:
    """Return the help of a command and of all its subcommands."""
    depth = "#" * (1 + context.command_path.count(" "))
    parts = [f"{depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                parts.append(_commands(below, click.Context(below, context, info_name=name)))
    return "\n".join(parts)


def _formats() -> str:
    parts = ["# File formats\n\nWhat is read and written, byte by byte, as the code says it.\n"]
    for heading, modules in _FORMATS.items():
        parts.append(f"## {heading}\n")
        only = "    options:\n      members: false\n      heading_level: 3\n"
        parts += [f"::: pyhudi_expr.{module}\n{only}" for module in modules]
    return "\n".join(parts)


def _reference(title: str, modules: Sequence[str]) -> str:
    return f"# {title}\n\n" + "\n".join(f"::: pyhudi_expr.{module}\n" for module in modules)
