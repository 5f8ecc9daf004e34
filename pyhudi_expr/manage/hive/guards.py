"""What checks of HiveServer2 find, and what its metastore may still do to a table's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi_expr.manage.hive.session import HiveSession, QueryError


class Verdict(str, Enum):
    """The result of checking a link."""

    GOOD = "ok"
    DOUBTFUL = "warning"
    """Queries are right, and less pruned than they could be."""
    BROKEN = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The finding for one link.

    Attributes:
        message: What was found.
        remedy: What to do; empty if all is well.
    """

    link: str
    verdict: Verdict
    message: str
    remedy: str = ""


_LINK = "metastore"
_PACKAGE = "io.pyhudi.hive.metastore"
_TABLE_GUARD = f"{_PACKAGE}.HudiTableGuard"
_FILE_GUARD = f"{_PACKAGE}.HudiFileGuard"
_PARTITION_GUARD = f"{_PACKAGE}.HudiPartitionGuard"
SETTINGS: Mapping[str, str] = {
    _TABLE_GUARD: "hive.metastore.pre.event.listeners",
    _FILE_GUARD: "hive.metastore.fs.handler.class",
    _PARTITION_GUARD: "hive.metastore.transactional.event.listeners",
}
"""The setting of the metastore that names each class."""

_OPEN: Mapping[str, str] = {
    _TABLE_GUARD: (
        "ALTER TABLE may make a table managed or take the storage handler away, and then DROP TABLE"
        " deletes its files, RENAME moves them; DROP DATABASE deletes those in its directory"
    ),
    _FILE_GUARD: ("TRUNCATE of a managed table and DROP of a temporary one delete the files there"),
    _PARTITION_GUARD: "EXCHANGE PARTITION moves files out of adopted tables",
}
"""What is possible without each class."""


_WITHOUT_FILE_HANDLERS = (4, 2)
"""The first version of Hive whose metastore deletes files by no class of ours."""


def guarded(session: HiveSession, version: str) -> Finding:
    """Say what is possible without the classes that the metastore lacks.

    HiveServer2 knows the settings of a metastore in its own process only.

    Args:
        session: A session with HiveServer2.
        version: Of Hive.
    """
    try:
        uris = _value(session, "hive.metastore.uris")
        missing = {
            name: setting
            for name, setting in _known(version).items()
            if name not in _value(session, setting).split(",")
        }
    except QueryError as error:
        return _unknown(f"HiveServer2 does not show its settings: {error.reason}", version)
    if uris:
        return _unknown(f"HiveServer2 does not know the settings of {uris}", version)
    if not missing:
        rest = (
            "" if _FILE_GUARD in _known(version) else f"; in Hive {version}, {_OPEN[_FILE_GUARD]}"
        )
        return Finding(_LINK, Verdict.GOOD, f"it deletes and moves no files of Hudi tables{rest}")
    message = "; ".join(_OPEN[name] for name in missing)
    settings = ", ".join(f"{setting}={name}" for name, setting in missing.items())
    remedy = f"put the handler's jar on the metastore's class path, in its hive-site.xml {settings}"
    return Finding(_LINK, Verdict.DOUBTFUL, message, remedy)


def _value(session: HiveSession, setting: str) -> str:
    """Return the value of a setting; empty if it has none."""
    shown = "".join(str(row[0]) for row in session.run(f"SET {setting}"))
    name, equals, value = shown.partition("=")
    return value.replace(" ", "") if equals and name == setting else ""


def _known(version: str) -> Mapping[str, str]:
    """Return the settings that a version of Hive has."""
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return {
        name: setting
        for name, setting in SETTINGS.items()
        if name != _FILE_GUARD or parts < _WITHOUT_FILE_HANDLERS
    }


def _unknown(message: str, version: str) -> Finding:
    settings = ", ".join(f"{setting}={name}" for name, setting in _known(version).items())
    remedy = f"look in the hive-site.xml of the metastore for {settings}"
    return Finding(_LINK, Verdict.SKIPPED, message, remedy)
