"""Settings that are read again, and the first lines of the log."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import structlog

from pyhudi_expr.service.access import exposure
from pyhudi_expr.service.settings import NEED_RESTART, ServiceSettings, unknown_variables

_log: Any = structlog.get_logger()


def log_start(settings: ServiceSettings) -> None:
    """Log the version, what is open to whom, and variables without effect."""
    _log.info("starting", version=version("pyhudi-expr"), **exposure(settings))
    for name in unknown_variables():
        _log.warning("no setting has this name", variable=name)


def reread(
    settings: ServiceSettings, read_again: Callable[[], ServiceSettings]
) -> tuple[ServiceSettings, dict[str, list[str]]]:
    """Return the settings to continue with, and for the log what needs a restart.

    Raises ValueError if the new settings are invalid.
    """
    fresh = read_again()
    kept = {name: getattr(settings, name) for name in NEED_RESTART}
    ignored = [name for name, value in kept.items() if getattr(fresh, name) != value]
    return fresh.model_copy(update=kept), {"need_restart": ignored} if ignored else {}
