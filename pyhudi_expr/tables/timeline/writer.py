"""Write actions to a timeline, in the states and names of its layout; see `timeline`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

_FORMAT = "%Y%m%d%H%M%S%f"
_DIGITS = 17  # yyyyMMddHHmmssSSS
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Action:
    """One action of a table's timeline, in any of its states.

    Attributes:
        requested: Its requested time.
        name: Its name on the timeline, for example `indexing` or `deltacommit`.
    """

    storage: Storage
    properties: TableProperties
    requested: str
    name: str

    def request(self, plan: bytes = b"") -> None:
        """Write the requested state.

        Raises:
            HudiError: An action of this time exists.
        """
        self._create(self._pending_file("requested"), plan)

    def start(self, content: bytes = b"") -> None:
        """Write the inflight state."""
        self._create(self._pending_file("inflight"), content)

    def complete(self, content: bytes, completed: str) -> None:
        """Write the completed state; `completed` is later than all other times, see `next_time`."""
        self._create(self._completed_file(completed), content)

    def remove(self) -> None:
        """Remove the action, whatever its state."""
        completed = self._completed_file("*")
        for entry in self.storage.list(self.properties.timeline_dir):
            if fnmatchcase(entry.path, completed):
                self.storage.delete(entry.path)
        for state in ("inflight", "requested"):
            self.storage.delete(self._pending_file(state))

    def _pending_file(self, state: str) -> str:
        return f"{self.properties.timeline_dir}/{self.requested}.{self.name}.{state}"

    def _completed_file(self, completed: str) -> str:
        times = self.requested
        if self.properties.timeline_layout > 1:
            times = f"{self.requested}_{completed}"
        return f"{self.properties.timeline_dir}/{times}.{self.name}"

    def _create(self, path: str, content: bytes) -> None:
        if not self.storage.create(path, content):
            raise HudiError(
                f"{self.storage.uri}: {path} is there already: another writer is at work; try again"
            )


def next_time(properties: TableProperties, known: Iterable[str | None]) -> str:
    """Return the current instant (yyyyMMddHHmmssSSS) in the timeline's zone, after all known ones.

    Without this, writers whose clocks or zones differ would order their instants wrongly.
    """
    zone = timezone.utc if properties.timeline_zone == "UTC" else None
    now = _text(datetime.now(zone))
    latest = max((_with_milliseconds(instant) for instant in known if instant), default="")
    if now > latest:
        return now
    return _text(datetime.strptime(latest[:_DIGITS] + "000", _FORMAT) + _MILLISECOND)


def _with_milliseconds(instant: str) -> str:
    """Return an instant with milliseconds, as Hudi reads it; longer ones are truncated."""
    return instant.ljust(_DIGITS, "9")[:_DIGITS]


def _text(moment: datetime) -> str:
    return moment.strftime(_FORMAT)[:_DIGITS]
