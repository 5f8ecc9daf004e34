"""A pruning service in the tests' process, whose answers a test can change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from pyhudi_expr.protocol.generated import PruningService, ttypes

Answers: TypeAlias = Callable[[ttypes.PruneRequest], ttypes.PruneResponse]


class MeddlingHandler(PruningService.Iface):
    """A handler that lets a test answer in place of another one."""

    def __init__(self, handler: PruningService.Iface) -> None:
        self.true_answer: Answers = handler.prune
        self._answer: Answers = handler.prune
        self._handler = handler

    def info(self) -> ttypes.ServiceInfo:
        return self._handler.info()

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        return self._answer(request)

    @contextmanager
    def answering(self, answer: Answers) -> Iterator[None]:
        """Gives these answers within the context."""
        self._answer = answer
        try:
            yield
        finally:
            self._answer = self.true_answer
