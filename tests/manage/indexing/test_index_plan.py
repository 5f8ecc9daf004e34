"""The build plan for a statement, and refused statements; tables are Hudi's golden ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.indexing.index_plan import IndexPlan, InvalidIndex, plan_index
from pyhudi_expr.manage.indexing.statements import CreateIndex, parse
from pyhudi_expr.tables.hudi_table import HudiTable

INDEXED, VIRTUAL = "cow_v9_txns_simple_meta", "cow_v8_simplekeygen_hivestyle_no_metafields"
LOGGED = "mor_v9_txns_simple_meta"
COMPOSITE, OLD = "cow_v8_complexkeygen_hivestyle", "mor_v6_simplekeygen_nonhivestyle"

Planned = Callable[[str, str], IndexPlan]


@pytest.fixture
def planned(golden: Mapping[str, Path]) -> Planned:
    def planned(statement: str, name: str) -> IndexPlan:
        return plan_index(HudiTable.open(str(golden[name])), parse(statement))

    return planned


def test_column_stats_include_partition_stats(planned: Planned) -> None:
    found = planned("CREATE INDEX i ON t USING column_stats(amount)", INDEXED)
    assert [p.name for p in found.partitions] == ["column_stats", "partition_stats"]
    always = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
    assert found.partitions[0].definition.fields == (*always, "amount")
    assert found.partitions[0].definition.version == "V2"
    assert [p.is_listed for p in found.partitions] == [True, False]
    assert found.store is Store.HUDI


def test_version_6_has_no_statistics_of_partitions(planned: Planned) -> None:
    found = planned("CREATE INDEX i ON t USING column_stats", OLD)
    assert [p.name for p in found.partitions] == ["column_stats"]
    assert found.partitions[0].definition.version == "V1"
    assert len(found.partitions[0].definition.fields) > 3


@pytest.mark.parametrize("kind", ["column_stats", "bloom_filters"])
def test_hudis_names_of_expression_indexes_are_accepted(
    planned: Planned, golden: Mapping[str, Path], kind: str
) -> None:
    statement = f"CREATE INDEX i ON t USING {kind}(merchant_name) OPTIONS (expr='upper', store="
    found = planned(f"{statement}'extension')", INDEXED)
    (partition,) = found.partitions
    assert (found.kind, partition.name) == ("expression", "expr_index_i")
    assert (partition.definition.type, partition.definition.function) == (kind, "upper")
    assert partition.definition.options == {"expr": "upper"}
    again = CreateIndex(found.name, "t", found.kind, found.columns, found.options)
    assert plan_index(HudiTable.open(str(golden[INDEXED])), again) == found


def test_a_secondary_index_also_creates_a_missing_record_index(planned: Planned) -> None:
    statement = "CREATE INDEX i ON t (merchant_name)"
    assert [p.name for p in planned(statement, INDEXED).partitions] == ["secondary_index_i"]
    beside = planned(f"{statement} OPTIONS (store = 'extension', shards = 3)", INDEXED)
    assert [p.name for p in beside.partitions] == ["record_index", "secondary_index_i"]
    assert (beside.store, beside.shards) == (Store.EXTENSION, 3)


@pytest.mark.parametrize(
    ("statement", "table", "message"),
    [
        ("CREATE INDEX i ON t USING btree(amount)", INDEXED, "no kind of index 'btree'.*there are"),
        ("CREATE INDEX i ON t USING colum_stats(amount)", INDEXED, "did you mean column_stats"),
        ("CREATE INDEX i ON t (amout)", INDEXED, "no column 'amout'.*did you mean amount"),
        ("CREATE INDEX i ON t (a.b)", INDEXED, "no column 'a.b'"),
        ("CREATE INDEX `my index` ON t (merchant_name)", INDEXED, "not a valid index name"),
        ("CREATE INDEX i ON t (merchant_name, amount)", INDEXED, "several columns.*extension"),
        ("CREATE INDEX i ON t (amount, amount)", INDEXED, "'amount' is named twice"),
        ("CREATE INDEX i ON t", INDEXED, "over one column or several; name them"),
        ("CREATE INDEX i ON t USING record_index(merchant_name)", INDEXED, "name no columns"),
        ("CREATE INDEX i ON t USING expression(amount)", INDEXED, "option expr"),
        (
            "CREATE INDEX i ON t USING column_stats(txn_ts) OPTIONS (expr = 'hours')",
            INDEXED,
            "an index over 'hours' is not known; known functions: abs, ",
        ),
        (
            "CREATE INDEX i ON t USING column_stats(txn_ts) OPTIONS (expr = 'date_format')",
            INDEXED,
            r"'date_format' is not known \(with the options format\)",
        ),
        (
            "CREATE INDEX i ON t USING expression(txn_ts) OPTIONS (expr = 'hour', type = 'bloom')",
            INDEXED,
            "no type 'bloom' of expression index: did you mean bloom_filters",
        ),
        (
            "CREATE INDEX i ON t USING bloom_filters(merchant_name)",
            INDEXED,
            "nulls in Bloom filters of a column, and identity of merchant_name may be null",
        ),
        (
            "CREATE INDEX i ON t (merchant_name) OPTIONS (store = 'hud')",
            INDEXED,
            "did you mean hudi",
        ),
        (
            "CREATE INDEX i ON t (merchant_name) OPTIONS (shrads=3)",
            INDEXED,
            "did you mean shards",
        ),
        ("CREATE INDEX i ON t (merchant_name) OPTIONS (shards = 0)", INDEXED, "shards must be"),
        ("CREATE INDEX i ON t (merchant_name) OPTIONS (shards = 'x')", INDEXED, "shards must be"),
        ("CREATE INDEX i ON t (amount)", INDEXED, "type decimal.*extension"),
        ("CREATE INDEX i ON t (is_international)", INDEXED, "type bool.*extension"),
        ("CREATE INDEX i ON t USING column_stats(arrayField)", COMPOSITE, "no index can hold"),
        ("CREATE INDEX i ON t USING column_stats(structField)", COMPOSITE, "one of its fields"),
        ("CREATE INDEX i ON t USING record_index", VIRTUAL, "virtual record keys.*extension"),
        ("CREATE INDEX i ON t USING bloom_filters", VIRTUAL, "virtual record keys"),
        ("CREATE INDEX i ON t (name)", COMPOSITE, "composite record key.*extension"),
        ("CREATE INDEX i ON t (name)", OLD, "version 6 has no secondary_index"),
        ("CREATE INDEX i ON t (merchant_name)", LOGGED, "lose rows by the others.*extension"),
    ],
)
def test_an_unsupported_index_is_refused_with_an_alternative(
    planned: Planned, statement: str, table: str, message: str
) -> None:
    with pytest.raises(InvalidIndex, match=message):
        planned(statement, table)


@pytest.mark.parametrize("table", [VIRTUAL, COMPOSITE, OLD])
def test_the_extension_supports_what_hudi_does_not(planned: Planned, table: str) -> None:
    found = planned("CREATE INDEX i ON t (name) OPTIONS (store = 'extension')", table)
    assert found.store is Store.EXTENSION


@pytest.mark.parametrize("table", [INDEXED, COMPOSITE, OLD])
def test_an_index_over_several_columns_is_sharded_by_value(planned: Planned, table: str) -> None:
    columns = ("merchant_name", "amount") if table == INDEXED else ("name", "id")
    statement = f"CREATE INDEX i ON t ({', '.join(columns)}) OPTIONS (store = 'extension')"
    secondary = planned(statement, table).partitions[-1].definition
    assert (secondary.fields, secondary.version) == (columns, "V2")
