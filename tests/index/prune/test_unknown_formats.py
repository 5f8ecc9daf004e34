"""Tables as later versions of Hudi might write them: nothing is pruned, and a note says why."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from tests.index.prune.matching_slices import INDEXES_ALONE

NOTHING_MATCHES = PruneRequest(parse_predicate("amount > 100000"))
_VERSION, _KIND = 14, 18
"""Where a block of a log file has its format's version and its kind, 4 bytes each."""


def set_version(properties: str) -> Callable[[Path], None]:
    def change(table: Path) -> None:
        file = table / properties
        text = file.read_text().replace("hoodie.table.version=9", "hoodie.table.version=10")
        file.write_text(text)

    return change


def set_in_blocks(at: int, value: int) -> Callable[[Path], None]:
    """Changes a number in the first block of each log file that has data."""

    def change(table: Path) -> None:
        for file in (table / ".hoodie" / "metadata").glob("*/.*.log.*"):
            content = bytearray(file.read_bytes())
            if len(content) > 1000:
                content[at : at + 4] = value.to_bytes(4, "big")
                file.write_bytes(content)

    return change


def add_file(name: str) -> Callable[[Path], None]:
    """Adds a file to each file group, named after its base file."""

    def change(table: Path) -> None:
        for file in (table / ".hoodie" / "metadata").glob("*/*.hfile"):
            file.with_name(name.format(file.name.partition("_")[0])).write_bytes(b"PAR1")

    return change


def rename_shards(table: Path) -> None:
    """Names shards as if each partition of the table had its own."""
    for file in list((table / ".hoodie" / "metadata").glob("*/*-0000-0_*")):
        shutil.copy(file, file.with_name(file.name.replace("-0000-0_", "-us-0000-0_")))


LATER: Mapping[str, Callable[[Path], None]] = {
    "metadata table's version": set_version(".hoodie/metadata/.hoodie/hoodie.properties"),
    "format of log files": set_in_blocks(_VERSION, 2),
    "kind of blocks": set_in_blocks(_KIND, 7),
    "Parquet blocks": set_in_blocks(_KIND, 5),
    "native log files": add_file("{0}_0-1-2_20260307162456179.log.parquet"),
    "base files": add_file("{0}_0-1-2_20260307162456179.vortex"),
    "shards": rename_shards,
}


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table"))


def test_as_it_was_written_it_is_pruned(table: Path) -> None:
    result = Pruner().prune(str(table), NOTHING_MATCHES)
    assert (result.kept_paths(), result.notes) == ([], ())


@pytest.mark.parametrize("change", LATER)
def test_what_is_unknown_keeps_every_file_with_a_note(table: Path, change: str) -> None:
    unfiltered = Pruner().prune(str(table), PruneRequest(parse_predicate("true")))
    LATER[change](table)
    result = Pruner(INDEXES_ALONE).prune(str(table), NOTHING_MATCHES)
    assert set(result.kept_paths()) == set(unfiltered.kept_paths())
    assert any(str(table) in note for note in result.notes), result.notes


def test_an_unknown_version_of_the_table_is_refused(table: Path) -> None:
    set_version(".hoodie/hoodie.properties")(table)
    with pytest.raises(UnsupportedTable, match="table version 10 is not supported"):
        Pruner().prune(str(table), NOTHING_MATCHES)
