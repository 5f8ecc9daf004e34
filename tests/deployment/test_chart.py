"""What the Helm chart makes of values, and which it refuses. Needs helm: `make chart` builds it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from devtools.runtime import ROOT, WORK

CHART = ROOT / "docker" / "helm"
HELM = os.environ.get("HELM") or shutil.which("helm", path=f"{WORK}/tools:{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(HELM is None, reason="helm is missing: make chart, or HELM=PROGRAM")


def render(*values: str) -> subprocess.CompletedProcess[str]:
    """The chart with values, each in the form of `--set-json`."""
    assert HELM is not None
    options = [word for value in values for word in ("--set-json", value)]
    command = [HELM, "template", "pruning", str(CHART), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pod(*values: str) -> dict[str, Any]:
    """The template of the pods; raises where a key is there twice."""
    done = render(*values)
    assert done.returncode == 0, done.stderr
    every = yaml.load_all(done.stdout, _Strict)
    (deployment,) = (one for one in every if one["kind"] == "Deployment")
    template: dict[str, Any] = deployment["spec"]["template"]
    return template


class _Strict(yaml.SafeLoader):
    """Refuses what Kubernetes refuses too: a key that is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is there twice: {keys}"
        return super().construct_mapping(node, deep)


def test_an_annotation_replaces_the_charts_own() -> None:
    annotations = pod('podAnnotations={"prometheus.io/scrape":"false","team":"data"}')["metadata"][
        "annotations"
    ]
    assert annotations["prometheus.io/scrape"] == "false"
    assert annotations["prometheus.io/port"] == "9100"
    assert annotations["team"] == "data"


def test_changed_settings_replace_pods_whatever_the_annotations() -> None:
    given = 'podAnnotations={"pyhudi.io/settings":"mine"}'
    before, after = pod(given), pod(given, "settings.workers=2")
    of = "pyhudi.io/settings"
    assert before["metadata"]["annotations"][of] != after["metadata"]["annotations"][of]


def test_a_label_replaces_the_charts_own() -> None:
    labels = pod('podLabels={"app.kubernetes.io/version":"1.2","team":"data"}')["metadata"][
        "labels"
    ]
    assert labels["app.kubernetes.io/version"] == "1.2"
    assert labels["app.kubernetes.io/name"] == "pyhudi-pruning"
    assert labels["team"] == "data"


def test_the_token_may_have_a_secret_of_its_own() -> None:
    volumes = pod('secret="tls"', 'tokenSecret="shared"')["spec"]["volumes"]
    (sources,) = (one["projected"]["sources"] for one in volumes if "projected" in one)
    keys = {
        one["secret"]["name"]: [item["key"] for item in one["secret"]["items"]] for one in sources
    }
    assert keys == {"tls": ["tls.crt", "tls.key", "ca.crt"], "shared": ["token"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ['podLabels={"app.kubernetes.io/name":"x"}'],
            "podLabels: the chart itself sets app.kuber",
        ),
        (['podAnnotations={"prometheus.io/scrape":false}'], "podAnnotations"),
        (['settings={"table_root":["/warehouse"]}'], "'table_root' not allowed"),
        (["settings.port=1"], "'port' not allowed"),
        (['settings.metrics_address="0.0.0.0:1"'], "'metrics_address' not allowed"),
        (['settings.console_address="0.0.0.0:1"'], "'console_address' not allowed"),
        (["settings.threads=0"], "threads"),
        (['settings.log_level="loud"'], "log_level"),
        (['tables.claim=""'], "/warehouse is a directory, but tables.claim is empty"),
        (['tables.path="/data"'], "/warehouse is not below tables.path, /data"),
        (['secret=""'], "secret"),
        (['secret="Pruning"'], "secret"),
        (['tokenSecret="a_b"'], "tokenSecret"),
        (['storageOptionsSecret="-lake"'], "storageOptionsSecret"),
        (['callers={"certificate":false,"token":false}'], "certificate and token are both false"),
        (["callers.token=false", 'tokenSecret="t"'], "t has a token, but callers.token is false"),
        (['settings.table_roots=["/warehouses"]'], "/warehouses is not below tables.path"),
    ],
)
def test_values_with_which_no_pod_would_work_are_refused(values: list[str], message: str) -> None:
    done = render(*values)
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize("callers", ["certificate", "token"])
def test_one_kind_of_callers_suffices(callers: str) -> None:
    assert pod(f"callers.{callers}=false")


@pytest.mark.parametrize("name", ["a", "lake-1", "team.lake-1.x"])
def test_names_of_secrets_may_have_dots(name: str) -> None:
    assert pod(*(f'{value}="{name}"' for value in ("secret", "tokenSecret")))


@pytest.mark.parametrize(
    "values",
    [
        ['tables.claim=""', 'settings.table_roots=["s3://lake"]'],
        ['settings.table_roots=["/warehouse/sales/","/warehouse"]'],
        ['tables.path="/"'],
    ],
)
def test_roots_that_pods_see_are_taken(values: list[str]) -> None:
    assert pod(*values)
