"""The predicate that readers are compared by is the same in each form."""

from pathlib import Path

from bench import planning
from bench.tables.questions import question_of
from bench.tables.synthetic import write_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest

FILES = 1_000


def test_predicate_objects_equal_the_sql(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    write_table(Path(table), files=FILES, partitions=10)
    question = question_of(FILES)
    expected = question.kept(FILES)
    assert 0 < expected < FILES
    parsed = Pruner().prune(table, PruneRequest(parse_predicate(question.sql)))
    assert parsed.files_kept == expected
    assert planning.ours(table, question.most, question.least, question.first) == expected
