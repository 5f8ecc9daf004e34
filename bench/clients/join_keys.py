"""Many keys of a join's other side in one request to the pruning service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from bench.reporting.measuring import Measurement, benchmark, median_seconds
from bench.tables import synthetic
from devtools.runtime import WORK
from devtools.service import ServiceProcess
from pyhudi_expr.arrays import AnyArray, Int64Array, value_list
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.expr.nodes import Column, HudiExpression, In, InKeys, Literal
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus

_FILES = 2_000
_KEYS = 100_000
_RUNS = 15
_TIMEOUT = 60.0


@benchmark("join-keys")
def join_keys() -> Iterator[Measurement]:
    """100,000 keys of a join, 2,000 files: time of the service, packed and as literals."""
    table = str(synthetic.ensure_written(_FILES, 20))
    rows = _FILES * synthetic.ROWS_PER_FILE
    spread = np.arange(_KEYS, dtype=np.int64) * 2 * synthetic.ROWS_PER_FILE // 100
    kinds: dict[str, tuple[str, AnyArray]] = {
        # Those of every second file, within its rows: no two follow each other.
        "integers": ("spread", pa.array(_of_every_second_file())),
        "integers in one range": ("spread", pa.array(np.arange(_KEYS) + rows // 3)),
        "texts": ("code", pa.array([f"item-{number:010}-x" for number in spread])),
    }
    with (
        ServiceProcess(WORK / "bench") as server,
        PruningClient("127.0.0.1", server.port, _TIMEOUT) as client,
    ):
        kept = {}
        for name, (column, keys) in kinds.items():
            question = InKeys(Column((column,)), KeyList.of(keys))
            ask = partial(_answer, client, table, question)
            kept[name] = _kept(ask())
            client_seconds = median_seconds(ask, _RUNS)
            service = np.median([ask().counts.elapsedMicros for _ in range(_RUNS)]) / 1e3
            title = f"tpcds: {_KEYS:,} join keys, {name}, {_FILES:,} files"
            yield Measurement(f"{title}: at the service", float(service), "ms", "< 20")
            yield Measurement(f"{title}: with the caller", client_seconds * 1e3, "ms")
        column, keys = kinds["integers"]
        options = tuple(Literal(key, pa.int64()) for key in value_list(keys))
        ask = partial(_answer, client, table, In(Column((column,)), options))
        if _kept(ask()) != kept["integers"]:
            raise ValueError("keys and literals keep different files")
        title = f"tpcds: {_KEYS:,} join keys as literals, {_FILES:,} files"
        yield Measurement(f"{title}: with the caller", median_seconds(ask, 3) * 1e3, "ms")


def _of_every_second_file() -> Int64Array:
    within = synthetic.ROWS_PER_FILE // 100 * np.arange(100, dtype=np.int64)
    firsts = 2 * synthetic.ROWS_PER_FILE * np.arange(_KEYS // 100, dtype=np.int64)
    return (firsts[:, None] + within[None, :]).ravel()


def _kept(answer: PruneResponse) -> int:
    return int(answer.counts.filesConsidered - answer.counts.filesDropped)


def _answer(client: PruningClient, table: str, question: HudiExpression) -> PruneResponse:
    """Return the answer. Raises ValueError if the service has none."""
    answer = client.prune(table, question)
    if answer.status != PruneStatus.OK:
        raise ValueError(f"no answer: {answer.message}")
    return answer
