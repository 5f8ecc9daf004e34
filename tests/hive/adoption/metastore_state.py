"""What the metastore holds of a table and of each of its partitions."""

from __future__ import annotations

import json
from typing import Any

from pyhudi_expr.manage.hive.session import HiveSession

State = dict[str, Any]

#: Hive writes them at each ALTER TABLE, whatever it changes.
_STAMPS = frozenset({"transient_lastDdlTime", "last_modified_time", "last_modified_by"})


def metastore_state(session: HiveSession, name: str) -> State:
    """The table and its partitions as the metastore holds them, but when they were last altered."""
    session.run("SET hive.ddl.output.format=json")
    try:
        found = {"": _object(session, name, "tableInfo")}
        if found[""]["partitionKeys"]:
            keys = [key["name"] for key in found[""]["partitionKeys"]]
            session.run("SET hive.ddl.output.format=text")
            listed = [str(row[0]) for row in session.run(f"SHOW PARTITIONS {name}")]
            session.run("SET hive.ddl.output.format=json")
            for each in listed:
                pairs = [pair.partition("=")[2] for pair in each.split("/")]
                spec = ", ".join(f"{k}='{v}'" for k, v in zip(keys, pairs, strict=True))
                found[each] = _object(session, f"{name} PARTITION ({spec})", "partitionInfo")
    finally:
        session.run("SET hive.ddl.output.format=text")
    return found


def input_formats(state: State) -> dict[str, str]:
    """The simple names of the input formats, of the table ("") and of its partitions."""
    return {name: each["sd"]["inputFormat"].split(".")[-1] for name, each in state.items()}


def _object(session: HiveSession, what: str, key: str) -> Any:
    found = json.loads(session.run(f"DESCRIBE EXTENDED {what}")[0][0])[key]
    found["parameters"] = {k: v for k, v in found["parameters"].items() if k not in _STAMPS}
    found.pop("parametersSize", None)
    return found
