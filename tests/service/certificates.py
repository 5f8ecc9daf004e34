"""Certificates for a service at localhost, and for its clients."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

_MADE_BY = Path(__file__).parents[2] / "docker" / "secrets.sh"


def make(directory: Path) -> Path:
    """Creates the secrets, as for containers, in a directory. Skips the test without openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    subprocess.run([str(_MADE_BY), str(directory), "localhost"], check=True)
    return directory


def tls(secrets: Path, *, certificate: str | None = "hive") -> ssl.SSLContext:
    """The TLS context of a client. certificate: the name of its own certificate, or None."""
    context = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
    if certificate is not None:
        context.load_cert_chain(secrets / f"{certificate}.crt", secrets / f"{certificate}.key")
    return context


def service_tls(secrets: Path) -> dict[str, str]:
    """The settings of a service that requires client certificates."""
    return {
        "tls_certificate": str(secrets / "service.crt"),
        "tls_key": str(secrets / "service.key"),
        "tls_client_ca": str(secrets / "ca.crt"),
    }
