"""What a peer skips, we skip, and what may hold a matching row, we keep.

The facts are those of the peers' own tests: data, predicate, what is read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expr.peers.cases import Case, Peer
from tests.expr.peers.datafusion import DATAFUSION
from tests.expr.peers.delta import DELTA
from tests.expr.peers.duckdb import DUCKDB
from tests.expr.peers.hudi import HUDI
from tests.expr.peers.iceberg import ICEBERG
from tests.expr.peers.polars import POLARS
from tests.expr.peers.pyiceberg import PYICEBERG
from tests.expr.peers.trino import TRINO

PEERS = (DELTA, ICEBERG, PYICEBERG, DATAFUSION, TRINO, HUDI, POLARS, DUCKDB)
CASES = [(peer, case) for peer in PEERS for case in peer.cases()]


@pytest.mark.parametrize(
    ("peer", "case"), CASES, ids=[f"{peer.name}: {case.text}" for peer, case in CASES]
)
def test_no_file_is_kept_that_the_peer_skips(peer: Peer, case: Case) -> None:
    kept = case.files.kept(case.text, peer.dialect)
    assert case.with_verdict("+") <= kept, "a file is lost that may hold a matching row"
    assert not kept & case.with_verdict("~"), "a file is kept that held nothing so far"
    in_vain = sorted(kept & case.with_verdict("-"))
    if case.text in peer.weaker:
        assert in_vain, f"no longer weaker than {peer.name}: {peer.weaker[case.text]}"
    else:
        assert not in_vain, f"weaker than {peer.name}"


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_documented_numbers_are_those_of_the_cases(peer: Peer) -> None:
    comparison = Path(__file__).parents[3] / "docs/comparison.md"
    cases = list(peer.cases())
    assert peer.weaker.keys() <= {case.text for case in cases}
    files = sum(len(case.verdicts) for case in cases)
    row = f"| {peer.name} | {len(cases)} | {files} | {len(peer.weaker)} |"
    assert row in comparison.read_text()
