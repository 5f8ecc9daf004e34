"""The predicate of a first query, which must be pruned."""

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.hive.probe import find_probe
from pyhudi_expr.tables.hudi_table import HudiTable


def test_a_probe_excludes_the_files_that_it_claims(golden):
    table = HudiTable.open(str(golden["mor_v9_txns_simple_meta"]))
    probe = find_probe(table)
    assert probe is not None
    assert 0 < probe.kept < probe.files
    request = PruneRequest(parse_predicate(probe.predicate))
    result = Pruner().prune(table.base_path, request)
    assert (result.files_kept, result.files_total) == (probe.kept, probe.files)


def test_a_table_without_evidence_has_no_probe(golden):
    table = HudiTable.open(str(golden["cow_v9_txns_nonpart_nometa"]))
    assert find_probe(table) is None
