"""The tables that Flink wrote (`tests/data/flink`): their names and rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from tests.conftest import FLINK_DATA

NAMES = sorted(file.stem for file in FLINK_DATA.glob("rows/*.jsonl"))
COLUMNS = (*("id", "name", "amount", "score", "flag", "day", "at", "place", "bytes", "ts", "city"),)


def expected(name: str) -> list[dict[str, Any]]:
    """The rows of a table after all changes, by id, as pyarrow's values."""
    lines = (FLINK_DATA / "rows" / f"{name}.jsonl").read_text().splitlines()
    return [_typed(json.loads(line)) for line in lines]


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "amount": Decimal(row["amount"]),
        "day": date.fromisoformat(row["day"]),
        "at": datetime.fromisoformat(row["at"]).replace(tzinfo=ZoneInfo("UTC")),
        "bytes": row["bytes"].encode(),
    }
