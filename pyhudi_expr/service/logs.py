"""Structured logs on standard error, and spans of OpenTelemetry if a collector is set.

Callers name tables, and owners of tables name files: such a name neither ends a line nor controls
the terminal that shows it.

A separate thread sends the spans: a collector that does not answer costs spans, not time. Their
attributes hold no constants of queries.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

import structlog

from pyhudi_expr.api.pages.activity import AnsweredRequest
from pyhudi_expr.installation import version
from pyhudi_expr.service.settings import SettingsError

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


try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError as missing:
    raise SettingsError(
        "traces_endpoint: the packages for it lack: pip install pyhudi-expr[traces]"
    ) from missing

_FLUSH_MILLIS = 5_000


class Traces:
    """The spans of one service, until it is closed."""

    def __init__(self, endpoint: str) -> None:
        """Use a collector's URL for OTLP over HTTP, for example http://host:4318/v1/traces."""
        resource = Resource.create(
            {
                "service.name": "pyhudi",
                "service.version": version(),
            }
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
        self._tracer = self._provider.get_tracer(__name__)

    def answered(self, request: AnsweredRequest) -> None:
        """Send a request's span, which ends with the response."""
        end = int(request.at.timestamp() * 1e9)
        span = self._tracer.start_span(
            "prune",
            kind=SpanKind.SERVER,
            start_time=end - int(request.millis * 1e6),
            attributes={
                "hudi.table": request.table,
                "hudi.instant": request.instant or "",
                "hive.query.id": request.request.partition("#")[0],
                "pyhudi.request": request.request,
                "pyhudi.status": request.status,
                "pyhudi.files.considered": request.files,
                "pyhudi.files.dropped": request.dropped,
                "pyhudi.note": request.note,
            },
        )
        if request.status != "OK":
            span.set_status(Status(StatusCode.ERROR, request.note))
        span.end(end_time=end)

    def close(self) -> None:
        """Send waiting spans, within a time limit."""
        self._provider.force_flush(_FLUSH_MILLIS)
        self._provider.shutdown()
