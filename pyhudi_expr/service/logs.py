"""Structured logs on standard error.

Callers name tables, and owners of tables name files: such a name neither ends a line nor controls
the terminal that shows it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

import structlog

_JSON = json.JSONEncoder(ensure_ascii=False, default=repr)


class _StandardError:
    """Writes lines; a broken pipe must not fail a request."""

    def msg(self, line: str) -> None:
        """Write one line."""
        with contextlib.suppress(OSError, ValueError):
            # As one write, so that lines of several processes do not mix.
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg


def configure(log_format: str, level: str, **named: object) -> None:
    """Set the process's log format ("auto", "console" or "json") and least severity.

    Args:
        log_format: The format.
        level: The severity.
        named: Fields of every line.
    """
    machine = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    renderer: Any = (
        _as_json
        if machine
        # Not rich's tracebacks: they show local variables, including literals and tokens.
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    severity = getattr(logging, level.upper())
    structlog.configure(
        processors=[
            *([_with(named)] if named else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if machine else _with_visible_controls,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(severity),
        logger_factory=lambda *_: _StandardError(),
        cache_logger_on_first_use=True,
    )
    # Libraries that use the standard library's logging: warnings and errors only.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Formatter(logging.Formatter):
    """Formats events of the standard library's logging; a traceback has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return the line."""
        return _visible(super().formatMessage(record))


def _with_visible_controls(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return {
        name: _visible(value) if isinstance(value, str) else value for name, value in event.items()
    }


def _visible(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]


def _as_json(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    """Return a line; structlog's own renderer makes an encoder for each."""
    return _JSON.encode(event)


def _with(named: Mapping[str, object]) -> structlog.typing.Processor:
    """Return a processor that adds fields to a line."""

    def add(
        _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        event.update(named)
        return event

    return add
