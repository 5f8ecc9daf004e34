"""The same random cases through `pyhudi serve` with several worker processes.

The rows lie in files of a Hudi table, whose footers the service reads. So a case passes through all
that a query passes through: the protocol, the listing, Parquet's statistics, snapshots, caches and
workers. Each worker answers every predicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from tests.service.service_process import Process
from tests.truth.files import Files
from tests.truth.soundness import EvaluatedPredicate, Question, Tally
from tests.truth.stored import kept_among

WORKERS = 2


class Service:
    """Connections to each worker of a service."""

    def __init__(self, clients: Sequence[PruningClient]) -> None:
        self._clients = clients

    def check(
        self, tally: Tally, table: Path, predicates: Sequence[EvaluatedPredicate], files: Files
    ) -> None:
        """Asks each worker which files of the table each predicate keeps."""
        for evaluated in predicates:
            for front_end, question in evaluated.questions.items():
                for client in self._clients:
                    kept = _kept(client, table, question, len(files.members))
                    tally.add_kept(evaluated, files, front_end, "through the service", kept)


@contextmanager
def running_service(directory: Path) -> Iterator[Service]:
    """Starts a service, and stops it: it must end by itself, without an error."""
    process = Process(directory, workers=WORKERS, footers=True, footer_wait=60)
    try:
        with ExitStack() as stack:
            # The next connection is the next worker's.
            connections = [PruningClient(port=process.port, timeout=120) for _ in range(WORKERS)]
            yield Service([stack.enter_context(one) for one in connections])
        assert process.stop() == 0, process.text
    finally:
        process.kill()


def _kept(
    client: PruningClient, table: Path, question: Question, files: int
) -> npt.NDArray[np.bool_]:
    answer = client.send(
        ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId="truth",
            basePath=str(table),
            filter=encode(question.expression),
            view=ttypes.TableView.SNAPSHOT,
            semantics=encode_semantics(question.semantics),
            listKept=True,
        )
    )
    assert answer.status == ttypes.PruneStatus.OK, answer.message
    return kept_among(set(answer.kept.fileIds), files)
