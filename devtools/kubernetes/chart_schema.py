"""`make chart`: write the service's settings into the schema of the Helm chart's values."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.runtime import ROOT
from pyhudi_expr.service.settings import ServiceSettings

SCHEMA = ROOT / "docker" / "helm" / "values.schema.json"
#: What the chart itself sets, and addresses for which it has no port.
NOT_IN_VALUES = frozenset(
    {
        "host",
        "port",
        "metrics_address",
        "console_address",
        "callback_address",
        "refresh_options",
        "refresh_seconds",
        "tls_certificate",
        "tls_key",
        "tls_client_ca",
        "token_file",
        "snapshot_dir",
        "storage_options",
    }
)
#: Of the model's schema; defaults are those of values.yaml.
_LEFT_OUT = ("title", "default")


def settings_schema() -> dict[str, Any]:
    """Return the JSON schema of the value `settings`: what the chart leaves to users."""
    properties: Mapping[str, dict[str, Any]] = ServiceSettings.model_json_schema()["properties"]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {key: value for key, value in one.items() if key not in _LEFT_OUT}
            for name, one in properties.items()
            if name not in NOT_IN_VALUES
        },
    }


def write(schema: Path = SCHEMA) -> None:
    """Replace the part for `settings` in the chart's schema."""
    values = json.loads(schema.read_text())
    values["properties"]["settings"] = settings_schema()
    schema.write_text(json.dumps(values, indent=2) + "\n")


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(
        prog="devtools.kubernetes.chart_schema",
        description="Write the settings that the service has into the chart's schema.",
    )
    _parser.parse_args()
    write()
