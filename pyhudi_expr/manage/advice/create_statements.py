"""The statements that create candidates, where an index is possible."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.lookups.expression_index import IDENTITY
from pyhudi_expr.manage.advice.estimates import Candidate
from pyhudi_expr.manage.indexing.index_plan import (
    EXPRESSION_OPTION,
    STORE_OPTION,
    InvalidIndex,
    plan_index,
)
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, COLUMN_STATS, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable

_NO_LETTERS = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True)
class CreateStatement:
    """A statement that creates an index.

    Attributes:
        statement: For a shell.
        sql: For Spark SQL.
        store: Hudi's metadata table, or the extension's where Hudi would refuse or break the index.
    """

    statement: str
    sql: str
    store: Store


def create_statement(table: HudiTable, candidate: Candidate) -> CreateStatement | None:
    """Return the statement for a candidate; None if neither metadata table can hold it."""
    for store in Store:
        options = {STORE_OPTION: store.value}
        if candidate.function != IDENTITY:
            options[EXPRESSION_OPTION] = candidate.function
        name = _name(candidate)
        request = CreateIndex(name, table.base_path, candidate.kind, candidate.columns, options)
        try:
            plan_index(table, request)
        except InvalidIndex:
            continue
        words = ["pyhudi", "index", "create", name, "--table", table.base_path]
        words += ["--using", candidate.kind]
        words += ["--columns", ",".join(candidate.columns)] if candidate.columns else []
        if candidate.function != IDENTITY:
            words += ["--option", f"{EXPRESSION_OPTION}={candidate.function}"]
        words += ["--store", store.value] if store is not Store.HUDI else []
        return CreateStatement(shlex.join(words), _sql(request), store)
    return None


def _sql(request: CreateIndex) -> str:
    path = request.table.replace("\\", "\\\\").replace("'", "\\'")
    columns = ", ".join(_column(name) for name in request.columns)
    given = {key: text for key, text in request.options.items() if text != Store.HUDI.value}
    options = ", ".join(f"{key} = '{text}'" for key, text in given.items())
    return (
        f"CREATE INDEX {request.name} ON '{path}' USING {request.kind}"
        + (f"({columns})" if columns else "")
        + (f" OPTIONS ({options})" if options else "")
    )


def _column(name: str) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))


def _name(candidate: Candidate) -> str:
    called = (candidate.function,) if candidate.function != IDENTITY else ()
    columns = _NO_LETTERS.sub("_", "_".join((*called, *candidate.columns[:3])))
    if candidate.kind == BLOOM_FILTERS:
        return f"filters_{columns}" if columns else "filters"
    if called:
        return f"ranges_{columns}"
    return {COLUMN_STATS: "ranges", RECORD_INDEX: "keys"}.get(candidate.kind, f"by_{columns}")
