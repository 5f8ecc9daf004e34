"""The numbers of all workers, for the pages that one of them serves."""

from __future__ import annotations

import asyncio
from itertools import count

from pyhudi_expr.api.pages.activity import Activity
from pyhudi_expr.service.workers.channel import Channel, Kind, Message
from pyhudi_expr.service.workers.reports import Report, all_decoded, joined, text


class GatheredOverview:
    """Asks the supervisor for the reports of all workers (an `Overview`)."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    async def metrics_text(self) -> bytes:
        """See `Overview`."""
        return text(await self._gather(Kind.GATHER))

    async def activity(self) -> Activity:
        """See `Overview`."""
        found = (await self._gather(Kind.GATHER_WITH_ACTIVITY)).activity
        assert found is not None, "this worker reports as well"
        return found

    def gathered(self, message: Message) -> None:
        """Take the reports that were asked for."""
        waiting = self._waiting.pop(message.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message.body)

    async def _gather(self, kind: Kind) -> Report:
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._channel.send(Message(kind, number))
        return joined(all_decoded(await waiting))
