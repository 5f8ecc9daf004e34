"""The advisor's estimates on twenty tables, whose values are distributed in different ways.

What is measured is counted over the rows, and written by the writer of indexes. The tolerances are
the errors that the documentation states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from pyhudi_expr.manage.advice import table_sample
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import Advice, RankedIndex, advise
from pyhudi_expr.manage.indexing.build_options import LEAST_KEY_SHARDS
from tests.manage.layout.tables import split, written

_FILES, _ROWS, _SAMPLE = 40, 40_000, 5_000
_Values = npt.NDArray[np.int64]
_Make = Callable[[np.random.Generator], _Values]


def _uniform(values: int) -> _Make:
    return lambda rng: rng.integers(0, values, _ROWS)


def _exactly(times: int) -> _Make:
    return lambda rng: rng.permutation(np.arange(_ROWS) // times)


#: Each value about as often as the others, and in any file.
_EVEN: Mapping[str, _Make] = {
    "uniform, 9 rows": _uniform(4_444),
    "uniform, 20 rows": _uniform(2_000),
    "uniform, 80 rows": _uniform(500),
    "unique": _exactly(1),
    "exactly 2 rows": _exactly(2),
    "exactly 5 rows": _exactly(5),
    "exactly 25 rows": _exactly(25),
    "normal, wide": lambda rng: rng.normal(0, 1e9, _ROWS).astype(np.int64),
}
#: The same; a sample of an eighth seldom has one of them twice.
_RARE: Mapping[str, _Make] = {
    "uniform, 2 rows": _uniform(20_000),
    "uniform, 4 rows": _uniform(10_000),
}
#: Some values far more often than others.
_SKEWED: Mapping[str, _Make] = {
    "zipf 1.3": lambda rng: rng.zipf(1.3, _ROWS),
    "zipf 2": lambda rng: rng.zipf(2.0, _ROWS),
    "lognormal": lambda rng: rng.lognormal(6, 1.5, _ROWS).astype(np.int64),
    "normal": lambda rng: rng.normal(0, 500, _ROWS).astype(np.int64),
    "geometric": lambda rng: rng.geometric(0.002, _ROWS),
    "one value in half of the rows": lambda rng: np.where(
        rng.random(_ROWS) < 0.5, 7, rng.integers(0, 5_000, _ROWS)
    ),
    "many once, some often": lambda rng: np.where(
        rng.random(_ROWS) < 0.3, rng.integers(10**6, 10**9, _ROWS), rng.integers(0, 300, _ROWS)
    ),
}
#: The rows of a value lie together.
_TOGETHER: Mapping[str, _Make] = {
    "runs of ten": lambda rng: rng.permutation(_ROWS // 10).repeat(10),
    "runs of three hundred": lambda rng: rng.permutation(134).repeat(300)[:_ROWS],
    "around the file's number": lambda rng: (
        (np.arange(_ROWS) // (_ROWS // _FILES) * 50 + rng.integers(0, 200, _ROWS)) * 7919 % 100_003
    ),
}
_ALL = {**_EVEN, **_RARE, **_SKEWED, **_TOGETHER}
#: Tables whose keys follow from one another; others have random ones.
_CONSECUTIVE = frozenset(list(_ALL)[::3])


@dataclass(frozen=True)
class Case:
    """A table's estimates, and what is measured.

    files: that hold a value, on the average over all values. storage: bytes of the indexes of the
    values and of the keys.
    """

    advice: Advice
    index: RankedIndex
    files: float
    storage: float


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Case]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_sample, "_SAMPLE_ROWS", _SAMPLE)
        root = tmp_path_factory.mktemp("advised")
        return {name: _case(root / str(seed), name, seed) for seed, name in enumerate(_ALL)}


def _case(path: Path, name: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    values = _ALL[name](rng).astype(np.int64)
    keys = (
        [f"order-{number:08d}" for number in range(_ROWS)]
        if name in _CONSECUTIVE
        else [rng.bytes(8).hex() for _ in range(_ROWS)]
    )
    texts = [rng.bytes(30).hex() for _ in range(_ROWS)]
    rows = pa.table({"_hoodie_record_key": keys, "x": values, "text": texts})
    table = written(path, {"a": split(rows, _FILES)})
    distinct = np.unique(values)
    asked = read_queries(";".join(f"x = {value}" for value in rng.choice(distinct, 5)))
    advice = advise(table, asked.queries)
    offered = (*advice.recommendations, *advice.passed_over)
    index = next(each for each in offered if each.candidate.kind == "secondary_index")
    held = sum(len(np.unique(some)) for some in values.reshape(_FILES, -1))
    places = [("a", f"a-{number:04d}") for number in range(_FILES)]
    each = table_sample.location_bytes(
        keys, [places[row * _FILES // _ROWS] for row in range(_ROWS)], LEAST_KEY_SHARDS
    ) + table_sample.secondary_bytes(values.tolist(), keys, LEAST_KEY_SHARDS)
    return Case(advice, index, held / len(distinct), _ROWS * each)


@pytest.mark.parametrize("name", _EVEN)
def test_values_about_as_often_as_the_others(name: str, cases: Mapping[str, Case]) -> None:
    case = cases[name]
    assert case.advice.planned.files == pytest.approx(case.files, rel=0.1)
    share = case.advice.planned.files / _FILES
    assert case.advice.planned.bytes == pytest.approx(share * case.advice.today.bytes)


@pytest.mark.parametrize("name", _RARE)
def test_values_of_few_rows(name: str, cases: Mapping[str, Case]) -> None:
    assert cases[name].advice.planned.files == pytest.approx(cases[name].files, rel=1 / 3)


@pytest.mark.parametrize("name", [*_SKEWED, *_TOGETHER])
def test_more_is_saved_than_is_said_of_other_values(name: str, cases: Mapping[str, Case]) -> None:
    case = cases[name]
    assert case.files <= case.advice.planned.files < case.advice.today.files


@pytest.mark.parametrize("name", _ALL)
def test_storage(name: str, cases: Mapping[str, Case]) -> None:
    case, most = cases[name], 1.6 if name in _CONSECUTIVE else 1.2
    assert 0.95 * case.storage <= case.index.costs.storage <= most * case.storage
