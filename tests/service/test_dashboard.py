"""The Grafana dashboard shows all metrics of the service."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.generated.ttypes import PruneCounts, PruneResponse, PruneStatus
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.staleness import IndexLag

DASHBOARD = Path(__file__).parents[2] / "docker" / "grafana-dashboard.json"
IN_US = parse_predicate("region = 'us'")


def test_the_dashboard_shows_exactly_the_exported_metrics(
    golden: Mapping[str, Path],
) -> None:
    metrics = Metrics()
    counts = PruneCounts(2, 1, 2, 1, 2, 1, 1)
    metrics.answered(PruneResponse(1, "", "", PruneStatus.OK, counts=counts), 0.1, "reason")
    metrics.refused("token")
    metrics.refreshed("refreshed")
    metrics.staleness.found("/t", (IndexLag("riders", 0, None),))
    table = str(golden["cow_v9_txns_simple_meta"])
    metrics.count_result(table, Pruner().prune(table, PruneRequest(IN_US)))
    for gauge in ("connections", "unanswered", "cached_tables", "cached_bytes"):
        metrics.watch(f"pyhudi_{gauge}", "", lambda: 0)
    exported = {
        sample.name
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }
    text = json.dumps([panel["targets"] for panel in json.loads(DASHBOARD.read_text())["panels"]])
    used = set(re.findall(r"(?:pyhudi|process)_[a-z_]+", text))
    assert used <= exported
    internal = re.compile(r"_created$|_bucket$|_sum$|_count$")
    assert {
        name for name in exported if name.startswith("pyhudi_") and not internal.search(name)
    } <= (used)
