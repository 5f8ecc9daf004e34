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
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from tests.service.service_process import Process
from tests.truth.files import Files
from tests.truth.soundness import EvaluatedPredicate, Tally

WORKERS = 2
_INSTANT = "20260101000000000"
_PROPERTIES = """\
hoodie.table.name=truth
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=8
hoodie.timeline.layout.version=2
hoodie.populate.meta.fields=false
hoodie.record.merge.mode=COMMIT_TIME_ORDERING
"""


class Service:
    """Connections to each worker of a service."""

    def __init__(self, directory: Path, clients: Sequence[PruningClient]) -> None:
        self._directory = directory
        self._clients = clients
        self._tables = 0

    def check(self, tally: Tally, predicates: Sequence[EvaluatedPredicate], files: Files) -> None:
        """Asks each worker which of these files each predicate keeps."""
        table = self._directory / str(self._tables)
        self._tables += 1
        write_table(table, files.rows, files.members)
        for evaluated in predicates:
            zone = evaluated.zone or evaluated.session_options.zone
            for front_end, expression in evaluated.converted.items():
                for client in self._clients:
                    kept = _kept(client, table, expression, zone, len(files.members))
                    tally.add_kept(evaluated, files, front_end, kept)


@contextmanager
def running_service(directory: Path) -> Iterator[Service]:
    """Starts a service, and stops it: it must end by itself, without an error."""
    process = Process(directory, workers=WORKERS, footers=True, footer_wait=60)
    try:
        with ExitStack() as stack:
            # The next connection is the next worker's.
            connections = [PruningClient(port=process.port, timeout=120) for _ in range(WORKERS)]
            yield Service(directory, [stack.enter_context(one) for one in connections])
        assert process.stop() == 0, process.text
    finally:
        process.kill()


def write_table(path: Path, rows: pa.Table, members: Sequence[Sequence[int]]) -> None:
    """Writes a copy-on-write table without a metadata table; file F has the rows `members[F]`."""
    timeline = path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / f"{_INSTANT}_{_INSTANT}.commit").write_bytes(b"")
    (path / ".hoodie" / "hoodie.properties").write_text(_PROPERTIES)
    (path / ".hoodie_partition_metadata").write_text("partitionDepth=0\n")
    for number, own in enumerate(members):
        name = f"{_file_id(number)}_0-1-0_{_INSTANT}.parquet"
        pq.write_table(rows.take(list(own)), path / name)


def _file_id(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000-0"


def _kept(
    client: PruningClient, table: Path, expression: HudiExpression, zone: str | None, files: int
) -> npt.NDArray[np.bool_]:
    answer = client.send(
        ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId="truth",
            basePath=str(table),
            filter=encode(expression),
            view=ttypes.TableView.SNAPSHOT,
            semantics=encode_semantics(here(zone)),
            listKept=True,
        )
    )
    assert answer.status == ttypes.PruneStatus.OK, answer.message
    chosen = set(answer.kept.fileIds)
    return np.array([_file_id(number) in chosen for number in range(files)])
