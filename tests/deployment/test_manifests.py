"""The Kubernetes manifests, which `make chart` renders from the Helm chart: valid, safe, and the
service accepts their settings.

`test_chart.py`, `make chart` and `make test-kubernetes` check the chart itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from devtools.kubernetes.chart_schema import NOT_IN_VALUES, settings_schema
from devtools.runtime import ROOT
from pyhudi_expr.service.check import check
from pyhudi_expr.service.settings import ServiceSettings, load
from tests.service.certificates import make

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFESTS = ROOT / "docker" / "kubernetes" / "pruning.yaml"
CHART = ROOT / "docker" / "helm"
#: The oldest and the newest version that the manifests are for.
VERSIONS = ("1.27", "1.34")


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    """The objects, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(MANIFESTS.read_text())}


@pytest.fixture(scope="module")
def pod(objects: dict[str, Any]) -> dict[str, Any]:
    return objects["Deployment"]["spec"]["template"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(objects: dict[str, Any], version: str) -> None:
    kinds = {"Deployment", "Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy"}
    assert set(objects) == kinds
    for one in objects.values():
        kubernetes_validate.validate(one, version, strict=True)


def test_a_mistyped_field_is_detected(objects: dict[str, Any]) -> None:
    wrong = {**objects["Service"], "spec": {**objects["Service"]["spec"], "selectors": {}}}
    with pytest.raises(kubernetes_validate.ValidationError, match="selectors"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_the_service_would_start_with_these_settings(
    objects: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    secrets = make(tmp_path_factory.mktemp("secrets"))
    mounted = {
        "/run/pyhudi/tls.crt": secrets / "service.crt",
        "/run/pyhudi/tls.key": secrets / "service.key",
        "/run/pyhudi/ca.crt": secrets / "ca.crt",
        "/run/pyhudi/token": secrets / "pruning-token",
    }
    file = tmp_path_factory.mktemp("settings") / "service.toml"
    text = objects["ConfigMap"]["data"]["service.toml"]
    for path, here in mounted.items():
        assert json.dumps(path) in text
        text = text.replace(path, str(here))
    file.write_text(text)
    settings = load(file)
    assert settings.host == "0.0.0.0"
    assert settings.table_roots == ("/warehouse",)
    assert check(settings, {}).access["metrics"].startswith("0.0.0.0:9100")


def test_the_pods_have_no_more_rights_than_they_need(pod: dict[str, Any]) -> None:
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {one["name"] for one in container["volumeMounts"] if not one.get("readOnly")}
    assert writable == {"cache", "tmp"}


def test_no_mount_is_inside_of_a_read_only_one(pod: dict[str, Any]) -> None:
    paths = [Path(one["mountPath"]) for one in pod["spec"]["containers"][0]["volumeMounts"]]
    assert not [(a, b) for a in paths for b in paths if a in b.parents]


def test_other_services_of_the_cluster_set_no_variables(pod: dict[str, Any]) -> None:
    assert pod["spec"]["enableServiceLinks"] is False


def test_the_service_and_the_budget_select_the_pods(
    objects: dict[str, Any], pod: dict[str, Any]
) -> None:
    labels = pod["metadata"]["labels"].items()
    assert objects["Service"]["spec"]["selector"].items() <= labels
    assert objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels
    ports = {one["name"] for one in pod["spec"]["containers"][0]["ports"]}
    assert {one["targetPort"] for one in objects["Service"]["spec"]["ports"]} == ports


def test_only_pods_of_the_namespace_reach_the_service(
    objects: dict[str, Any], pod: dict[str, Any]
) -> None:
    policy = objects["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["ingress"] == [
        {"from": [{"podSelector": {}}], "ports": [{"port": "pruning"}]},
        {"ports": [{"port": "metrics"}]},
    ]


def test_the_manifests_are_those_of_the_charts_own_callers(objects: dict[str, Any]) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    (callers, _) = objects["NetworkPolicy"]["spec"]["ingress"]
    assert callers["from"] == values["allowedFrom"]


def test_requests_may_end_before_a_pod_is_killed(
    objects: dict[str, Any], pod: dict[str, Any]
) -> None:
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    assert grace > ServiceSettings.model_fields["stop_seconds"].default


def test_the_schema_of_the_chart_has_the_settings_of_the_service() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["settings"]
    assert schema == settings_schema(), "run `make chart`"


def test_the_chart_and_its_users_set_different_settings(objects: dict[str, Any]) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    rendered = tomllib.loads(objects["ConfigMap"]["data"]["service.toml"])
    assert set(ServiceSettings.model_fields) >= NOT_IN_VALUES
    assert set(rendered) - set(values["settings"]) <= NOT_IN_VALUES
    assert set(values["settings"]) <= set(settings_schema()["properties"])
