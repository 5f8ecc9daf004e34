"""`pyhudi serve`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from pyhudi_expr.cli.options import examples
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.installation import require_extra


@click.command(
    short_help="Run the pruning service.",
    epilog=examples(
        ("pyhudi serve", "on 127.0.0.1:9099"),
        ("pyhudi serve --config service.toml --check", "what it would do, and who may call it"),
        ("PYHUDI_CONSOLE_ADDRESS=127.0.0.1:9101 pyhudi serve --root /warehouse", "with a console"),
    ),
)
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file with settings.")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.")
@click.option("--workers", type=int, help="Processes that answer behind the port.")
@click.option(
    "--footers/--no-footers",
    default=None,
    help="Whether questions without statistics read all Parquet footers.",
)
@click.option("--root", "roots", multiple=True, help="Read only tables below here; repeatable.")
@click.option("--log-format", type=click.Choice(["auto", "console", "json"]))
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--check", is_flag=True, help="Show the settings and who has access; do not serve.")
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    footers: bool | None,
    roots: tuple[str, ...],
    log_format: str | None,
    log_level: str | None,
    check: bool,
) -> None:
    """Run the pruning service until SIGTERM or Ctrl-C.

    Options override environment variables (PYHUDI_...), which override the file. SIGHUP reloads the
    settings. With several workers a supervisor starts and replaces them. A setting that is invalid,
    or the name of none, stops the start; --check says so too.
    """
    with require_extra("service"):
        from pyhudi_expr.service.workers.forking import start_no_library_threads

        start_no_library_threads()
        from pyhudi_expr.service.process import serve as serve_until_stopped
        from pyhudi_expr.service.settings import load
    options = {
        "host": host,
        "port": port,
        "workers": workers,
        "footers": footers,
        "table_roots": roots or None,
        "log_format": log_format,
        "log_level": log_level,
    }
    read = partial(load, config, **options)
    if check:
        _show(config, options)
    else:
        serve_until_stopped(read(), read)


def _show(config: Path | None, options: Mapping[str, object]) -> None:
    from pyhudi_expr.service.check import check
    from pyhudi_expr.service.settings import load, origins

    given = [name for name, value in options.items() if value is not None]
    report = check(load(config, **options), origins(config, given))
    width = max(len(name) for name, _, _ in report.settings)
    echo("Settings")
    for name, value, origin in report.settings:
        echo(f"  {name:{width}}  {value or '(none)'}" + (f"  [{origin}]" if origin else ""))
    echo("\nAccess")
    for part, words in report.access.items():
        echo(f"  {part:{width}}  {words}")
    for warning in report.warnings:
        echo(f"warning: {warning}", err=True)
