"""Requests that want to know rows without having them read."""

from __future__ import annotations

import uuid
from pathlib import Path

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.service.handler import PruningHandler


def answer(
    handler: PruningHandler, table: Path, predicate: HudiExpression, **wanted: list[str] | None
) -> ttypes.PruneResponse:
    """The answer about a table's newest state; `wanted` are fields of the request."""
    return handler.prune(
        ttypes.PruneRequest(
            protocolVersion=PROTOCOL_VERSION,
            requestId=str(uuid.uuid4()),
            basePath=str(table),
            filter=encode(predicate),
            view=ttypes.TableView.SNAPSHOT,
            listKept=True,
            **wanted,
        )
    )
