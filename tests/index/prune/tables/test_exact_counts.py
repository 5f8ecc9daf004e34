"""Exact numbers of kept files, for a table whose layout allows counting by hand.

File `k` of 16 holds the ids 10 k to 10 k + 9, and all other columns follow from the id.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, TableType, create
from pyhudi_expr.index.prune import PruneOptions, Pruner
from tests.index.prune.matching_slices import assert_no_row_lost, read

pytestmark = pytest.mark.spark

ROWS = """
select id, cast(id as int) as t, cast(id * 100 - 8000 as int) as i, id * 10000000000 as l,
  id % 2 = 0 as even, id < 80 as low, cast(id as double) / 4 as d, cast(id as float) / 4 as f,
  if(id % 40 = 7, double('nan'), id / 4D) as nan,
  cast(id - 80 as decimal(7, 2)) as small, cast(id - 80 as decimal(38, 6)) as large,
  printf('name_%04d', id) as s, repeat('x', 1500) || printf('%04d', id) as long,
  element_at(
    array('', 'a', 'é', '日本', '😀', '\ufffd', '\U00010000', 'z'),
    cast(id div 20 + 1 as int)) as u,
  date_add(date'1969-12-01', cast(id as int)) as day,
  timestamp'1969-12-01 00:00:00' + make_interval(0, 0, 0, id) + make_interval(0,0,0,0,0,0,0.000001)
    as ts,
  cast(printf('%04d', id) as binary) as bin,
  if(id % 5 = 0, null, cast(id as int)) as some, if(id < 40, null, cast(id as int)) as later,
  cast(null as int) as none, cast(null as string) as nothing,
  named_struct('a', cast(id as int), 'b', named_struct('c', printf('c_%04d', id))) as st,
  if(id < 80, 'p0', 'p1') as p
from range(0, 160, 1, 16)
"""

KEPT = {
    # numbers
    **{"id = 55": 1, "id = 1000": 0, "id <> 55": 16, "id < 10": 1, "id <= 10": 2, "id > 149": 1},
    **{"id BETWEEN 5 AND 25": 3, "id IN (1, 2, 155, 999)": 2, "id NOT IN (1, 2)": 16},
    **{"NOT (id < 140)": 2, "NOT (id BETWEEN 10 AND 149)": 2, "id = 5.0": 1, "id < 9.5": 1},
    **{
        "t = 7": 1,
        "t = 3000000000": 0,
        "t < -3000000000": 0,
        "i = -8000": 1,
        "i + 1 = -7999": 1,
        "0 - i > 7000": 1,
    },
    **{"l = 550000000000": 1, "l >= 1500000000000": 1, "l > 9223372036854775807": 0},
    **{"id = t": 16, "i = l": 0, "i < l": 16, "i > l AND id > 10": 0},
    **{"even": 16, "low": 8, "NOT low": 8, "low = false AND id < 80": 0, "low IS NULL": 0},
    **{"d = 1.25": 1, "d > 37.4": 1, "f < 2.5": 1, "d < 0": 0, "d <> 1.25": 16, "d IS NULL": 0},
    # files 0, 4, 8 and 12 hold NaN, and so have no upper bound of this column
    **{"nan = 2.75": 2, "nan > 37.4": 5, "nan < 0": 0, "nan = CAST('NaN' AS double)": 4},
    **{"small = -80": 1, "small > 78.5": 1, "small = 0.5": 1, "large = -80": 1, "large > 78": 1},
    **{"large IN (-80, 0, 500)": 2, "large = 0.5": 1},
    # texts and binaries
    **{"s = 'name_0055'": 1, "s LIKE 'name%'": 16, "s LIKE 'nbme%'": 0, "s > 'name_0149'": 1},
    **{"s < 'name'": 0, "s IN ('name_0001', 'x')": 1, "s NOT LIKE 'name%'": 0, "s = s": 16},
    **{"u = ''": 2, "u = 'é'": 2, "u >= '😀'": 2, "u LIKE '日%'": 2, "u = '\ufffd'": 2},
    **{"u = '\U00010000'": 2, "u > 'z'": 10, "u > '\U00010000'": 2, "u < 'é'": 6},
    **{"bin = X'30303535'": 1, "bin < X'30'": 0, "bin > X'30313439'": 1},
    # days and times
    **{"day = DATE '1970-01-01'": 1, "day < DATE '1969-12-11'": 1, "year(day) = 1969": 4},
    **{"day = '1970-01-01'": 1, "day > DATE '2100-01-01'": 0, "year(day) > 1970": 0},
    **{"ts < TIMESTAMP '1969-12-11 00:00:00'": 1, "ts = TIMESTAMP '1969-12-11 00:00:00.000001'": 1},
    **{"ts >= '1970-05-01 00:00:00'": 1, "ts = TIMESTAMP '1969-12-11 00:00:00'": 0},
    # nested fields and nulls
    **{"st.a = 55": 1, "st.b.c = 'c_0055'": 1, "st.b.c > 'd'": 0, "st.a IS NULL": 0},
    **{
        "some IS NULL": 16,
        "some IS NOT NULL": 16,
        "some = 56": 1,
        "some = 55": 1,
        "some <=> 56": 1,
    },
    **{"later IS NULL": 4, "later IS NOT NULL": 12, "later <> 50": 12, "later <=> NULL": 4},
    **{"none IS NULL": 16, "none IS NOT NULL": 0, "none = 0": 0, "none <> 0": 0, "none < 5": 0},
    **{"nothing IS NULL": 16, "nothing IS NOT NULL": 0, "nothing = ''": 0, "nothing LIKE 'a%'": 0},
    **{"id = NULL": 0, "id IN (NULL)": 0, "id NOT IN (1, NULL)": 16, "id <=> NULL": 0},
    # functions
    **{"i * 2 = -16000": 1, "i / 4 < -1900": 1, "-t = -55": 1, "abs(i) < 100": 1, "t % 7 = 7": 0},
    **{"small + 1 = -79": 1, "floor(d) = 1": 1, "round(d) > 39": 1, "CAST(d AS int) = 37": 2},
    **{"coalesce(later, -1) = -1": 4, "nvl(some, 7) = 155": 1, "if(t < 10, 1, 0) = 1": 1},
    **{"CASE WHEN t >= 150 THEN 'a' ELSE 'b' END = 'a'": 1, "CAST(t AS string) = '155'": 1},
    **{"substr(s, 1, 8) = 'name_005'": 1, "upper(s) = 'NAME_0055'": 1, "concat(s, 'x') = 'x'": 0},
    **{"s LIKE 'name__0055'": 1, "s LIKE '_ame_0055'": 1, "trim(s) = 'name_0055'": 1},
    **{"month(day) = 1": 4, "day(day) = 32": 0, "to_date(ts) = DATE '1970-01-01'": 1},
    **{"date_format(ts, 'yyyy-MM') = '1970-01'": 4, "date_add(day, 5) = DATE '1970-01-01'": 1},
    # trunc: Hive's vectorised code truncates each day to 1970-01-01
    **{"hour(ts) = 24": 0, "trunc(day, 'MM') = DATE '1970-01-01'": 16, "year(ts) < 1970": 4},
    **{"id < 1 AND id > 2": 0, "NOT (id >= 1 OR id <= 2)": 0, "1 = 2": 0, "2 = 2": 16},
    # trees
    **{"id = 55 AND s = 'name_0056'": 1, "id = 55 AND s = 'name_0060'": 0, "p = 'p1'": 8},
    **{"id = 5 OR i > 7500": 2, "id = 5 OR length(s) = 4": 16, "id = 5 AND length(s) = 4": 1},
    **{"NOT (id = 5 OR id > 20)": 3, "p = 'p0' AND id > 60": 2, "p = 'p0' OR id > 150": 9},
    **{"(id < 20 OR id > 140) AND later IS NOT NULL": 2, "true": 16, "false": 0},
}


@pytest.mark.smoke("6-whole")
@pytest.mark.parametrize("partitions", [(), ("p",)], ids=["whole", "partitioned"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_exactly_the_files_with_a_match_are_kept(
    spark: SparkSession, tmp_path: Path, version: int, partitions: tuple[str, ...]
) -> None:
    columns = [*spark.sql(ROWS).columns, "st.a", "st.b.c"]
    indexed = tuple(name for name in columns if name != "st")
    spec = TableSpec("exact", TableType.COW, version, partitions=partitions, stats_columns=indexed)
    path = create(spark.sql(ROWS), spec, tmp_path).path
    pruner = Pruner(PruneOptions(footer_wait=20))
    kept = assert_no_row_lost(pruner, path, read(spark, path), KEPT)
    # In version 6 footers say what column_stats leaves out: decimals with many digits.
    assert kept == KEPT
