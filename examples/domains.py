"""Asks the pruning service about a TupleDomain of Trino or Presto, in JSON on standard input.

python -m examples.domains HOST:PORT TABLE [ZONE] < domain.json
"""

import sys

from examples.predicates.tuple_domain import DomainError, parse_tuple_domain
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus, VerdictKind


def main(address: str, table: str, zone: str = "UTC") -> int:
    """Print the files of a table that match tuple domains from standard input."""
    host, _, port = address.rpartition(":")
    try:
        predicate = parse_tuple_domain(sys.stdin.read())
    except DomainError as error:
        print(f"no domain: {error}", file=sys.stderr)
        return 2
    with PruningClient(host, int(port)) as client:
        answer = client.prune(table, predicate, semantics=here(zone))
    if answer.status != PruneStatus.OK:
        print(f"every file is to be read: {answer.message}", file=sys.stderr)
        return 1
    for verdict in answer.verdicts:
        kind = VerdictKind._VALUES_TO_NAMES[verdict.kind]
        print(verdict.partitionPath, kind, *sorted(verdict.tokens or ()), sep="\t")
    counts = answer.counts
    print(f"dropped {counts.filesDropped} of {counts.filesConsidered} files", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
