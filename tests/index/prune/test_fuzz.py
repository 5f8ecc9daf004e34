"""Whatever bytes a table's files hold, pruning answers or raises an error that names the file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from tests.conftest import GOLDEN_DATA
from tests.example_counts import examples

NAMES = sorted(path.stem for path in GOLDEN_DATA.glob("*.zip"))
REQUEST = PruneRequest(
    parse_predicate("txn_id IN ('TXN-001', 'TXN-007') AND amount > 10 OR id = 5")
)

damages = st.tuples(
    st.sampled_from(["flipped", "cut off", "inserted"]), st.integers(0), st.integers(1, 255)
)


@pytest.fixture(scope="module")
def tables(
    golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    root = tmp_path_factory.mktemp("fuzzed")
    return {name: Path(shutil.copytree(golden[name], root / name)) for name in NAMES}


def damaged(content: bytes, damage: tuple[str, int, int]) -> bytes:
    kind, where, byte = damage
    at = where % max(len(content), 1)
    if kind == "cut off":
        return content[:at]
    if kind == "inserted":
        return content[:at] + bytes([byte]) + content[at:]
    return content[:at] + bytes([content[at] ^ byte]) + content[at + 1 :] if content else b"\0"


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), data=st.data(), some=st.lists(damages, min_size=1, max_size=3))
def test_fuzz_the_files_below_hoodie(
    name: str, data: st.DataObject, some: list[tuple[str, int, int]], tables: Mapping[str, Path]
) -> None:
    table = tables[name]
    files = sorted(file for file in (table / ".hoodie").rglob("*") if file.is_file())
    file = data.draw(st.sampled_from(files))
    original = file.read_bytes()
    content = original
    for damage in some:
        content = damaged(content, damage)
    file.write_bytes(content)
    message = None
    try:
        result = Pruner().prune(str(table), REQUEST)
        assert len(result.keep) == result.listing.num_slices
    except HudiError as error:
        message = str(error)
    finally:
        file.write_bytes(original)
    assert message is None or str(table) in message
