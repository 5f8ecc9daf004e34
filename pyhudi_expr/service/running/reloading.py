"""Settings that are read again, what the log says of them, and whether file systems can be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import version
from pyhudi_expr.service.access import exposure
from pyhudi_expr.service.settings import (
    NEED_RESTART,
    ServiceSettings,
    SettingsError,
    unknown_variables,
)
from pyhudi_expr.user_settings import settings_in_file


def check_file_systems(settings: ServiceSettings) -> None:
    """Raises SettingsError if a root is on HDFS, and neither library nor addresses are there.

    Or if the file of this user, whose storage options count, too, cannot be read.

    No NameNode is asked: one that does not answer now may do so later.
    """
    try:
        settings_in_file()
    except HudiError as error:
        raise SettingsError(str(error)) from None
    on_hdfs = [root for root in settings.table_roots if _is_on_hdfs(root)]
    if not on_hdfs:
        return
    # Imported on use: a supervisor needs nothing that reads tables.
    from pyhudi_expr.tables.storage import Storage, joined_options, process_options
    from pyhudi_expr.tables.storage.hadoop.configuration import WEBHDFS, problem_of, via

    options = joined_options(process_options(), settings.all_storage_options)
    try:
        if via(options) == WEBHDFS:
            for root in on_hdfs:
                Storage.open(root, options)
            return
    except HudiError as error:
        raise SettingsError(f"table_roots: {error}") from None
    problem = problem_of(on_hdfs[0])
    if problem:
        raise SettingsError(f"table_roots: {on_hdfs[0]}: {problem}")


def _is_on_hdfs(root: str) -> bool:
    return root.lower().startswith(("hdfs:", "viewfs:"))


#: The settings that name files of which a reload takes the content.
_FILES = ("tls_certificate", "tls_key", "tls_client_ca", "token_file")
#: What says who may ask about what, and the parts of `exposure` that come from it.
_ACCESS = frozenset({*_FILES, "table_roots"})
_EXPOSED = ("tls", "token", "roots")

_log: Any = structlog.get_logger()


@dataclass(frozen=True)
class InForce:
    """The settings of a running service.

    Attributes:
        settings: The settings.
        digests: Of the content of each file that they name, by setting.
        need_restart: The settings that were read with another value, which needs a restart.
    """

    settings: ServiceSettings
    digests: Mapping[str, str]
    need_restart: tuple[str, ...] = ()

    @classmethod
    def at_start(cls, settings: ServiceSettings) -> InForce:
        """Return the settings with which a service starts."""
        return cls(settings, _digests(settings))

    def reread(self, read_again: Callable[[], ServiceSettings]) -> InForce:
        """Return the settings to continue with. Raises ValueError if the new ones are invalid."""
        fresh = read_again()
        kept = {name: getattr(self.settings, name) for name in NEED_RESTART}
        ignored = tuple(name for name, value in kept.items() if getattr(fresh, name) != value)
        settings = fresh.model_copy(update=kept)
        return InForce(settings, _digests(settings), ignored)

    def changed_since(self, before: InForce) -> list[str]:
        """Return the names of the settings that differ, in themselves or in their file."""
        return [
            name
            for name in ServiceSettings.model_fields
            if getattr(self.settings, name) != getattr(before.settings, name)
            or self.digests.get(name) != before.digests.get(name)
        ]


def _digests(settings: ServiceSettings) -> dict[str, str]:
    named = {name: getattr(settings, name) for name in _FILES}
    return {name: _digest(Path(file)) for name, file in named.items() if file}


def _digest(file: Path) -> str:
    """Return the digest of a file, "" for one that cannot be read, which `Access` refuses."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def log_start(settings: ServiceSettings) -> None:
    """Log the version, what is open to whom, and variables without effect."""
    _log.info("starting", version=version(), **exposure(settings))
    for name in unknown_variables():
        _log.warning("no setting has this name", variable=name)


def log_reloaded(before: InForce, after: InForce) -> None:
    """Log the names of what has changed, and who may ask about what if that has."""
    changed = after.changed_since(before)
    exposed = exposure(after.settings)
    access = {} if _ACCESS.isdisjoint(changed) else {part: exposed[part] for part in _EXPOSED}
    restart = {"need_restart": list(after.need_restart)} if after.need_restart else {}
    _log.info("settings reloaded", changed=changed, **access, **restart)
