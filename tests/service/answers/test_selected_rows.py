"""A caller that asks learns which rows of kept base files can match, and of which files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.ttypes import PruneStatus, SelectedRows
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings
from tests.rows.nasty_tables import GROUP_ROWS, write_nasty_table
from tests.service.test_handler import request

#: Tests of what is evaluated do not depend on the speed of the machine.
OF_ANY_SIZE = ServiceSettings(row_file_bytes=0, row_seconds=60)
ONE_ID = parse_predicate("id = 30")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    """Four files of six row groups, whose ids ascend, and all rows."""
    path = tmp_path_factory.mktemp("rows") / "table"
    return path, write_nasty_table(path, Random(1))


#: So that all files are kept whose rows are evaluated.
_NO_FOOTERS = PruneOptions(footer_seconds=0)


def asked(table: Path, predicate=ONE_ID, settings=OF_ANY_SIZE, **fields) -> ttypes.PruneResponse:
    fields = {"filter": encode(predicate), "selectRows": True} | fields
    response = PruningHandler(Pruner(_NO_FOOTERS), settings).prune(request(str(table), **fields))
    assert response.status == PruneStatus.OK
    return response


def selected(table: Path, predicate=ONE_ID) -> Mapping[str, SelectedRows]:
    answer = asked(table, predicate).selectedRows or []
    return {one.fileName: one for one in answer}


def stored_ids(path: Path, one: SelectedRows) -> list[int]:
    file = path / one.partitionPath / one.fileName
    ids: list[Any] = pq.read_table(file, columns=["id"])["id"].to_pylist()
    ranges = zip(one.rangeStarts, one.rangeEnds, strict=True)
    return [ids[row] for start, end in ranges for row in range(start, end)]


def test_only_the_rows_of_one_row_group_can_match(rows):
    path, _ = rows
    found = selected(path)
    assert sorted(found) == sorted(file.name for file in path.glob("*.parquet"))
    ids = sorted(id_ for one in found.values() for id_ in stored_ids(path, one))
    first = 30 - 30 % GROUP_ROWS
    assert ids == list(range(first, first + GROUP_ROWS))


def test_an_answer_describes_the_file_that_it_is_about(rows):
    path, _ = rows
    for name, one in selected(path).items():
        content = (path / name).read_bytes()
        footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
        assert one.footerDigest == hashlib.sha256(footer).digest()
        assert one.fileSize == len(content)
        metadata = pq.read_metadata(path / name)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        assert one.rowGroupRows == [group.num_rows for group in groups]
        columns = [[g.column(i) for i in range(g.num_columns)] for g in groups]
        assert one.rowGroupOffsets == [
            chunks[0].dictionary_page_offset or chunks[0].data_page_offset for chunks in columns
        ]
        assert one.rowGroupBytes == [
            sum(chunk.total_compressed_size for chunk in chunks) for chunks in columns
        ]


@pytest.mark.parametrize(
    "text",
    ["i = 0 OR s = 'a'", "m < 0", "w IS NULL", "day = DATE '1970-01-01'", "NOT (b AND l > 0)"],
)
def test_every_row_that_matches_is_selected(rows, text: str):
    path, every = rows
    columns = {
        "i = 0 OR s = 'a'": pc.or_kleene(pc.equal(every["i"], 0), pc.equal(every["s"], "a")),
        "m < 0": pc.less(every["m"], pa.scalar(0)),
        "w IS NULL": pc.is_null(every["w"]),
        "day = DATE '1970-01-01'": pc.equal(
            every["day"], pa.scalar(0).cast(pa.int32()).cast(pa.date32())
        ),
        "NOT (b AND l > 0)": pc.invert(pc.and_kleene(every["b"], pc.greater(every["l"], 0))),
    }
    matching = set(every.filter(columns[text])["id"].to_pylist())
    found = selected(path, parse_predicate(text))
    assert found
    within = {id_ for one in found.values() for id_ in stored_ids(path, one)}
    whole = {
        id_
        for file in path.glob("*.parquet")
        if file.name not in found
        for id_ in pq.read_table(file, columns=["id"])["id"].to_pylist()
    }
    assert matching <= within | whole


def test_nothing_is_selected_unless_a_caller_asks(rows):
    path, _ = rows
    assert asked(path, selectRows=None).selectedRows is None


def test_a_predicate_that_skips_nothing_selects_nothing(rows):
    path, _ = rows
    assert asked(path, parse_predicate("id >= 0")).selectedRows is None


def test_small_files_are_read_whole(rows):
    path, _ = rows
    assert asked(path, settings=ServiceSettings()).selectedRows is None


def test_no_rows_are_judged_if_that_is_turned_off(rows):
    path, _ = rows
    response = asked(path, settings=ServiceSettings(row_file_bytes=0, row_files=0))
    assert response.selectedRows is None
    assert "rows" not in response.message


def test_too_many_files_are_a_note(rows):
    path, _ = rows
    response = asked(path, settings=ServiceSettings(row_file_bytes=0, row_seconds=60, row_files=3))
    assert response.selectedRows is None
    assert response.message.endswith("rows are not evaluated: more than 3 files are kept")


def test_files_that_take_too_long_are_a_note(rows):
    path, _ = rows
    response = asked(path, settings=ServiceSettings(row_file_bytes=0, row_seconds=1e-9))
    assert response.selectedRows is None
    expected = "rows of some files are not evaluated: their footers took too long"
    assert response.message.endswith(expected)


def test_base_files_of_slices_with_log_files_are_judged(golden):
    table = golden["mor_v6_metadata_pending_compaction"]
    # A column without statistics in the metadata table.
    response = asked(table, parse_predicate("_hoodie_commit_seqno = 'x'"), listKept=True)
    selected_names = {one.fileName for one in response.selectedRows}
    names, bases = iter(response.kept.fileNames), set[str]()
    for has_base, logs in zip(response.kept.haveBaseFile, response.kept.logFiles, strict=True):
        files = [next(names) for _ in range(has_base + logs)]
        bases.update(files[:has_base])
    assert any(response.kept.logFiles)
    assert selected_names == bases


def test_judged_rows_are_counted(rows):
    path, every = rows
    metrics = Metrics()
    handler = PruningHandler(Pruner(_NO_FOOTERS), OF_ANY_SIZE, metrics)
    handler.prune(request(str(path), filter=encode(ONE_ID), selectRows=True))
    text = metrics.text().decode()
    assert f'pyhudi_rows_total{{outcome="kept"}} {GROUP_ROWS}.0' in text
    assert f'pyhudi_rows_total{{outcome="dropped"}} {len(every) - GROUP_ROWS}.0' in text
    assert 'pyhudi_row_groups_total{outcome="kept"} 1.0' in text
