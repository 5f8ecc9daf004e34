"""A filtered read returns the same rows as the filter over all rows in memory.

The tables have values for which the statistics of files and row groups are often wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from devtools.spark import session_settings
from devtools.tables import TableSpec, create
from pyhudi_expr import scan
from pyhudi_expr.errors import CorruptFile, FilterNotApplicable, HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.frontend.arrow.expressions import parse_arrow, validation_error
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.rows.footer_trust import matching_row_groups
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import Engine, Table
from tests.index.prune.brute_force import rows_of
from tests.rows.nasty_tables import (
    GROUP_ROWS,
    SCHEMA,
    arrow_filters,
    filter_lists,
    nasty_rows,
    sql_texts,
    write_nasty_table,
)

SEED = 7 if settings().derandomize else None
CASES = examples(300)
NAN = math.nan
D = pc.field("d")
#: Floats compared as in IEEE 754; integers are converted to doubles for it.
ARROW = Engine("pyarrow", nan_is_greatest=False, numbers="double")
SPARKS = Engine("pyarrow", nan_is_greatest=True, numbers="double")


@dataclass(frozen=True)
class Nasty:
    """A table, and its rows in memory. pruner: prunes files by their footers as well."""

    path: str
    rows: pa.Table
    pruner: Pruner

    def found(self, filter_: Any, **options: Any) -> list[int]:
        read = scan(self.path, filter_, ["id"], pruner=self.pruner, zone="UTC", **options)
        return sorted(read.to_table()["id"].to_pylist())

    def expected(self, filter_: pc.Expression) -> list[int]:
        return list(self.rows.filter(filter_)["id"].to_pylist())


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Nasty:
    path = tmp_path_factory.mktemp("nasty") / "table"
    rows = write_nasty_table(path, Random(SEED))
    return Nasty(str(path), rows, Pruner(PruneOptions(footers=True, footer_wait=20)))


def computable(schema: pa.Schema) -> Iterator[pc.Expression]:
    for one in arrow_filters(Random(SEED)):
        try:
            schema.empty_table().filter(one)
        except pa.ArrowException:
            continue
        yield one


def test_pyarrow_expressions_return_the_rows_of_pyarrow(nasty: Nasty) -> None:
    tried = islice(computable(SCHEMA), CASES)
    wrong = [str(one) for one in tried if nasty.found(one) != nasty.expected(one)]
    assert wrong == []


def test_filter_lists_return_the_rows_of_pyarrow(nasty: Nasty) -> None:
    tried = islice(filter_lists(Random(SEED)), CASES)
    wrong = [
        one for one in tried if nasty.found(one) != nasty.expected(pq.filters_to_expression(one))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("filters", "same"),
    [
        ([("i", "between", (-1, 1))], (pc.field("i") >= -1) & (pc.field("i") <= 1)),
        ([("d", "not between", (0.0, 1.0))], ~((D >= 0.0) & (D <= 1.0))),
        ([("s", "like", "a%")], pc.match_like(pc.field("s"), "a%")),
        ([("s", "not like", "_")], ~pc.match_like(pc.field("s"), "_")),
        ([("st.i", "is null")], pc.field("st", "i").is_null()),
        ([("i", "in", iter((0, 1))), ("l", "is not null")],
         pc.field("i").isin([0, 1]) & pc.field("l").is_valid()),
    ],
)  # fmt: skip
def test_operators_that_pyarrow_has_no_filters_for(
    nasty: Nasty, filters: Any, same: pc.Expression
) -> None:
    assert nasty.found(filters) == nasty.expected(same)
    assert 0 < len(nasty.expected(same)) < nasty.rows.num_rows


@pytest.mark.spark
@pytest.mark.long
def test_filters_on_files_that_hudi_wrote(spark: SparkSession, tmp_path: Path) -> None:
    """With the statistics of Hudi's index, and of parquet-mr."""
    random, files = Random(SEED), 12
    written = pa.concat_tables(nasty_rows(random, 1, n * GROUP_ROWS) for n in range(files))
    written = written.drop_columns(["at", "clock"])  # which PySpark shifts
    values = [tuple(row.values()) for row in written.to_pylist()]
    rows = spark.createDataFrame(
        spark.sparkContext.parallelize(values, files), from_arrow_schema(written.schema)
    )
    with session_settings(spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}):
        path = str(create(rows, TableSpec("nasty"), tmp_path).path)
    table = Nasty(path, scan(path).to_table(), Pruner(PruneOptions(footer_wait=20)))
    assert sorted(table.rows["id"].to_pylist()) == written["id"].to_pylist()
    lists = ((one, pq.filters_to_expression(one)) for one in filter_lists(random))
    computed = (
        (one, same) for one, same in lists if validation_error(same, written.schema) is None
    )
    expressions = ((one, one) for one in computable(written.schema))
    for filters in (computed, expressions):
        for filter_, same in islice(filters, CASES):
            assert table.found(filter_) == sorted(table.expected(same)), filter_


@pytest.mark.parametrize("name", DIALECTS)
def test_sql_returns_the_rows_of_some_engine(nasty: Nasty, name: str) -> None:
    dialect = DIALECTS[name]
    types, rows = rows_of(nasty.rows)
    table, refused = Table(types, "UTC"), 0
    engine = SPARKS if dialect is SPARK else ARROW
    null_safe = "<=>" if dialect in (HIVE, SPARK) else "IS NOT DISTINCT FROM"
    for text in islice(sql_texts(Random(SEED), null_safe), CASES // 3):
        try:
            found = set(nasty.found(text, dialect=dialect))
        except FilterNotApplicable:
            refused += 1
            continue
        predicate = parse_predicate(text, dialect)
        for row in rows:
            truth = truths(predicate, row, table, engine)
            assert len(truth) > 1 or (True in truth) == (row["id"] in found), (text, row)
    # Trino's and Presto's times, and decimals that sqlglot formats with an exponent.
    share = 0.6 if dialect not in (HIVE, SPARK) else 0.1
    assert refused < CASES // 3 * share + 3  # a few more in the small sample of `make test-fast`


@pytest.mark.parametrize(
    "filter_",
    [
        *(~(D >= 1.0), D.isin([NAN]), D.isin([0.0]), D.isin([-0.0]), D.is_null(nan_is_null=True)),
        *([("d", "in", [NAN])], [("d", "not in", [0.0])], [("d", "in", [0.0, None])]),
        *([("l", "in", [2147483648, 99.0])], [("f", "in", [1, -1.5])], [("i", "!=", 0.5)]),
    ],
    ids=str,
)
def test_floats_are_compared_as_pyarrow_compares_them(nasty: Nasty, filter_: Any) -> None:
    expression = (
        filter_ if isinstance(filter_, pc.Expression) else pq.filters_to_expression(filter_)
    )
    whole = nasty.rows.set_column(
        nasty.rows.schema.get_field_index("i"), "i", nasty.rows["i"].cast(pa.float64())
    )
    assert nasty.found(filter_) == whole.filter(expression)["id"].to_pylist()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("d IN (-0.0e0)", D == 0.0),
        ("d IN (CAST('NaN' AS double), 1)", D == 1.0),
        ("d NOT IN (CAST('NaN' AS double), 1)", D != 1.0),
        ("f IN (0.1)", pc.field("f") == 0.1),
        ("l IN (0e0, 9223372036854775807e0)", pc.field("l").isin([0, 2**63 - 1])),
        ("l > 0.5e0", pc.field("l") > 0),
        ("l < CAST('-Infinity' AS double)", pc.scalar(False)),
        ("l = d", pc.field("l").cast(pa.float64(), safe=False) == D),
        ("l <> st.d", pc.field("l").cast(pa.float64(), safe=False) != pc.field("st", "d")),
    ],
)
def test_comparisons_of_numbers_are_consistent_with_equality(
    nasty: Nasty, text: str, same: pc.Expression
) -> None:
    assert nasty.found(text) == nasty.expected(same)


def fragments(path: str) -> list[ds.ParquetFileFragment]:
    files = sorted(str(file) for file in Path(path).glob("*.parquet"))
    return list(ds.dataset(files, SCHEMA).get_fragments())


@pytest.mark.parametrize(
    "column", ["b", "i", "l", "m", "w", "s", "x", "day", "at", "clock", "st.i", "id"]
)
def test_row_groups_without_a_match_are_not_read(nasty: Nasty, column: str) -> None:
    path = column.split(".")
    values = nasty.rows[path[0]]
    values = pc.struct_field(values, path[1]) if len(path) > 1 else values
    greatest = pc.field(*path) == pc.max(values) if column != "s" else pc.field("s") == "x" * 70
    bound = bind(parse_arrow(greatest, SCHEMA), Scope(SCHEMA, here("UTC")))
    kept = sum(len(one.row_groups) for one in matching_row_groups(fragments(nasty.path), bound))
    assert 0 < kept < sum(len(one.row_groups) for one in fragments(nasty.path))


def test_row_groups_with_nan_are_kept_whatever_their_maximum(nasty: Nasty) -> None:
    bound = bind(parse_predicate("d > 1e300 OR st.d < -1e300"), Scope(SCHEMA))
    every = fragments(nasty.path)
    skipped = 0
    for whole, kept in zip(every, matching_row_groups(every, bound), strict=True):
        left = {group.id for group in kept.row_groups}
        for group in whole.row_groups:
            if group.id in left:
                continue
            part: Any = whole.subset(row_group_ids=[group.id])
            rows = part.to_table(columns=["d", "st"])
            above = [one for one in rows["d"].to_pylist() if one is not None]
            assert not any(math.isnan(one) or one > 1e300 for one in above)
            below = [one["d"] for one in rows["st"].to_pylist() if one and one["d"] is not None]
            assert not any(one < -1e300 for one in below)
            skipped += 1
    assert skipped


@pytest.mark.parametrize(
    "filter_",
    [
        *(pc.field("l") > 1.5, pc.field("l") == D, pc.divide(pc.field("i"), 0) > 1),
        *(pc.multiply_checked(pc.field("l"), pc.field("l")) > 3, pc.field("s").cast("int32") > 1),
    ],
    ids=str,
)
def test_an_error_of_pyarrow_is_reported(nasty: Nasty, filter_: pc.Expression) -> None:
    with pytest.raises(pa.ArrowException):
        nasty.rows.filter(filter_)
    with pytest.raises(FilterNotApplicable, match="rows cannot be filtered"):
        nasty.found(filter_)


def test_long_lists_are_not_processed_recursively(tmp_path: Path) -> None:
    """Arrow's recursion over a chain as long as the list would crash the process."""
    table, many = str(tmp_path / "table"), range(20_000)
    rows = write_nasty_table(Path(table), Random(SEED), files=1, groups=2)
    texts = ", ".join(f"{one}{'.5' if one % 2 else ''}" for one in many)
    for filter_, same in (
        ([[("i", "=", one)] for one in many], pc.field("i").isin(many)),
        ([("i", "!=", one) for one in many], ~pc.field("i").isin(many) & pc.field("i").is_valid()),
        (f"i IN ({texts})", pc.field("i").isin(many[::2])),
    ):
        assert scan(table, filter_, ["id"]).to_table()["id"].equals(rows.filter(same)["id"])


def test_files_with_an_old_type_of_a_column(nasty: Nasty, tmp_path: Path) -> None:
    """As text, 10 is below 9; as integers, the statistics order them the other way."""
    path = tmp_path / "table"
    rows = write_nasty_table(path, Random(SEED), changed_types={"i": "string", "day": "string"})
    for name, text in (("i", "0"), ("i", "-1"), ("day", "1970-01-01")):
        column_text = rows[name].cast(pa.string())
        for sign, same in (
            ("=", pc.equal(column_text, text)),
            ("<=", pc.less_equal(column_text, text)),
        ):
            found = scan(str(path), f"{name} {sign} '{text}'", ["id"]).to_table()["id"]
            assert sorted(found.to_pylist()) == rows.filter(same)["id"].to_pylist() != []


@pytest.mark.parametrize("filter_", [None, "i = 1", D > 1.0])
def test_damaged_files_are_named(tmp_path: Path, filter_: Any) -> None:
    path = tmp_path / "table"
    write_nasty_table(path, Random(SEED))
    file = sorted(path.glob("*.parquet"))[1]
    whole = file.read_bytes()
    for content in (whole[:4], whole[: len(whole) // 2]):
        file.write_bytes(content)
        with pytest.raises(CorruptFile, match=file.name):
            scan(str(path), filter_).to_table()
    file.write_bytes(whole[:4] + b"Z" * 5_000 + whole[5_004:])
    with pytest.raises(HudiError, match="a file cannot be read"):
        scan(str(path), filter_).to_table()
