"""Settings of object stores: given options, else the environment, else files of the cloud's tools.

An option is a name of obstore's configuration (`aws_access_key_id`, `endpoint`), the same without
the cloud's prefix, or Hadoop's name (`fs.s3a.access.key`). Credentials that are given nowhere come
from instance roles, web identities and the like, as obstore finds them.

References: obstore's S3Config, GCSConfig and AzureConfig; Hadoop's core-default.xml.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.storage.object_clients import AZURE, GCS, S3, StoreAddress

_HADOOP_S3 = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
_HADOOP_OSS = {"accessKeyId": "access_key_id", "accessKeySecret": "secret_access_key"}
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_CLIENT_OPTIONS = frozenset(
    {"allow_http", "allow_invalid_certificates", "proxy_url", "root_certificate", "timeout"}
)
_FLAGS = frozenset({"allow_http", "allow_invalid_certificates"})
_TRUE = frozenset({"true", "1", "yes", "on"})


def s3(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of S3, or of a server that speaks its protocol."""
    settings = _without_prefix(_of_hadoop_s3(options, bucket), "aws_")
    endpoint = settings.pop("endpoint_url", None) or settings.get("endpoint")
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3")
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT")
    settings = {**_shared_files(settings), **settings, "bucket": bucket}
    if endpoint:
        settings["endpoint"] = endpoint.rstrip("/")
    settings.setdefault("region", _region())
    return _address(S3, settings)


def oss(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of Alibaba Cloud OSS, by its S3 protocol."""
    hadoop = {
        _HADOOP_OSS.get(key.removeprefix("fs.oss."), key.removeprefix("fs.oss.")): value
        for key, value in options.items()
    }
    settings = _without_prefix(hadoop, "oss_")
    endpoint = settings.get("endpoint") or os.environ.get("OSS_ENDPOINT")
    if not endpoint:
        raise HudiError(
            f"oss://{bucket}: no endpoint; set the option fs.oss.endpoint or OSS_ENDPOINT"
        )
    scheme, separator, host = endpoint.rpartition("://")
    settings["endpoint"] = f"{scheme if separator else 'https'}://{bucket}.{host.rstrip('/')}"
    for key, variable in (
        ("access_key_id", "OSS_ACCESS_KEY_ID"),
        ("secret_access_key", "OSS_ACCESS_KEY_SECRET"),
    ):
        if key not in settings and variable in os.environ:
            settings[key] = os.environ[variable]
    # OSS has no If-None-Match for writes; what must be exclusive is refused.
    fixed = {
        "bucket": bucket,
        "region": settings.get("region", "oss"),
        "virtual_hosted_style_request": "true",
        "conditional_put": "disabled",
    }
    return _address(S3, {**settings, **fixed})


def gcs(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of Google Cloud Storage."""
    settings = _without_prefix(options, "google_", "gcs_")
    keyfile = settings.pop("fs.gs.auth.service.account.json.keyfile", None)
    if keyfile:
        settings.setdefault("service_account", keyfile)
    return _address(GCS, {**settings, "bucket": bucket})


def azure(container: str, account: str, endpoint: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a container of Azure Blob Storage or Data Lake Storage.

    Args:
        container: The container.
        account: The storage account; empty if options or the environment name it.
        endpoint: The account's endpoint outside of the public cloud; else empty.
        options: See the module.
    """
    settings = _without_prefix(options, "azure_storage_", "azure_")
    for key in [key for key in settings if key.startswith("fs.azure.account.key")]:
        settings.setdefault("account_key", settings.pop(key))
    if account:
        settings["account_name"] = account
    elif "account_name" not in settings and "AZURE_STORAGE_ACCOUNT_NAME" not in os.environ:
        raise HudiError(
            f"{container}: no storage account; write abfss://{container}@ACCOUNT.dfs.core."
            "windows.net/path, or set AZURE_STORAGE_ACCOUNT_NAME"
        )
    if endpoint:
        settings.setdefault("endpoint", endpoint)
    return _address(AZURE, {**settings, "container_name": container})


def _address(kind: str, settings: dict[str, str]) -> StoreAddress:
    """Separate the settings of the HTTP client, and allow HTTP where the endpoint says so."""
    of_client: dict[str, str | bool] = {
        key: settings.pop(key).lower() in _TRUE if key in _FLAGS else settings.pop(key)
        for key in list(settings)
        if key in _CLIENT_OPTIONS
    }
    certificate = of_client.get("root_certificate")
    if isinstance(certificate, str) and "-----BEGIN" not in certificate:
        of_client["root_certificate"] = _content(certificate)
    if settings.get("endpoint", "").startswith("http://"):
        of_client.setdefault("allow_http", True)
    known = {key: value for key, value in settings.items() if not key.startswith("fs.")}
    return StoreAddress(kind, tuple(sorted(known.items())), tuple(sorted(of_client.items())))


def _content(file: str) -> str:
    try:
        return Path(file).read_text()
    except OSError as error:
        raise HudiError(f"the storage option root_certificate: {error}") from error


def _without_prefix(options: Mapping[str, str], *prefixes: str) -> dict[str, str]:
    settings = {}
    for key, value in options.items():
        name = next((key[len(p) :] for p in prefixes if key.lower().startswith(p)), key)
        settings[name if key.startswith("fs.") else name.lower()] = value
    return settings


def _of_hadoop_s3(options: Mapping[str, str], bucket: str) -> dict[str, str]:
    """Translate `fs.s3a.*`; settings of the bucket (`fs.s3a.bucket.NAME.*`) win."""
    own, general = f"fs.s3a.bucket.{bucket}.", "fs.s3a."
    hadoop = {
        key[len(prefix) :]: value
        for prefix in (general, own)
        for key, value in options.items()
        if key.startswith(prefix)
    }
    settings = {key: value for key, value in options.items() if not key.startswith("fs.")}
    for name, key in _HADOOP_S3.items():
        if name in hadoop:
            settings.setdefault(key, hadoop[name])
    if _ANONYMOUS in hadoop.get("aws.credentials.provider", ""):
        settings.setdefault("skip_signature", "true")
    endpoint = settings.get("endpoint", "")
    if endpoint and "://" not in endpoint:
        plain = hadoop.get("connection.ssl.enabled", "true").lower() == "false"
        settings["endpoint"] = f"{'http' if plain else 'https'}://{endpoint}"
    return settings


def _region() -> str:
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return named or _profile("config").get("region", "us-east-1")


def _shared_files(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of `~/.aws/credentials`, if neither options nor the environment have any."""
    given = {"access_key_id", "skip_signature"} & settings.keys()
    if given or "AWS_ACCESS_KEY_ID" in os.environ:
        return {}
    profile = {**_profile("config"), **_profile("credentials")}
    names = {
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
    }
    return {names[key]: value for key, value in profile.items() if key in names}


def _profile(file: str) -> Mapping[str, str]:
    default = Path.home() / ".aws" / file
    path = os.environ.get(
        "AWS_SHARED_CREDENTIALS_FILE" if file == "credentials" else "AWS_CONFIG_FILE", str(default)
    )
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path)
    except (OSError, configparser.Error) as error:
        raise HudiError(f"{path} cannot be read: {error}") from error
    name = os.environ.get("AWS_PROFILE", "default")
    section = name if file == "credentials" or name == "default" else f"profile {name}"
    return dict(parser[section]) if parser.has_section(section) else {}
