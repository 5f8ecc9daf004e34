"""Settings of object stores: given options, else the environment, else files of the cloud's tools.

An option is a name of obstore's configuration (`aws_access_key_id`, `endpoint`), the same without
the cloud's prefix, or Hadoop's name (`fs.s3a.access.key`); of two names of one setting the last
counts. Options of other clouds are passed over: a process has one set of options for all its
tables. Credentials that are given nowhere come from instance roles, web identities and the like, as
obstore finds them.

References: obstore's S3Config, GCSConfig and AzureConfig; Hadoop's core-default.xml.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage.object_clients import AZURE, GCS, S3, StoreAddress, has_setting
from pyhudi_expr.tables.storage.process_options import (
    LINKS_OPTION,
    certificate_text,
    joined_options,
)

_HADOOP_S3 = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
_HADOOP_OSS = {
    "accessKeyId": "access_key_id",
    "accessKeySecret": "secret_access_key",
    "securityToken": "session_token",
    "endpoint": "endpoint",
}
_HADOOP_GCS = {
    "fs.gs.auth.service.account.json.keyfile": "service_account",
    "google.cloud.auth.service.account.json.keyfile": "service_account",
}
_HADOOP_AZURE = {
    "fs.azure.account.key": "account_key",
    "fs.azure.sas.fixed.token": "sas_key",
    "fs.azure.account.oauth2.client.id": "client_id",
    "fs.azure.account.oauth2.client.secret": "client_secret",
    "fs.azure.account.oauth2.client.endpoint": "tenant_id",
}
_PREFIXES = {
    S3: ("aws_",),
    "oss": ("oss_",),
    GCS: ("google_", "gcs_"),
    AZURE: ("azure_storage_", "azure_"),
}
_ELSEWHERE = ("fs.", "google.cloud.", "dfs.", "hadoop.", "hdfs_via", "hadoop_", LINKS_OPTION)
_SYNONYMS = {"token": "session_token", "endpoint_url": "endpoint", "default_region": "region"}
_TENANT = re.compile(r"^https?://[^/]+/([^/]+)/oauth2/")
_KEYS = ("access_key_id", "secret_access_key", "session_token")
_ROLES = (
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_CLIENT_OPTIONS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "proxy_url",
        "read_timeout",
        "root_certificate",
        "timeout",
    }
)
_FLAGS = frozenset({"allow_http", "allow_invalid_certificates"})
_TRUE = frozenset({"true", "1", "yes", "on"})


def unknown_options(options: Iterable[str]) -> tuple[str, ...]:
    """Return the names that no store has. Of Hadoop's, those that have no meaning are no error."""
    return tuple(
        name
        for name in options
        if not name.startswith(_ELSEWHERE) and not any(_has(kind, name) for kind in _PREFIXES)
    )


def _has(kind: str, option: str) -> bool:
    # OSS is reached by its S3 protocol, and names one of the keys in another way.
    store = S3 if kind == "oss" else kind
    return any(
        name in _CLIENT_OPTIONS
        or (kind, name) == ("oss", "access_key_secret")
        or has_setting(store, name)
        for name in _own(kind, {option: ""}, {})
    )


def s3(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of S3, or of a server that speaks its protocol."""
    hadoop = _of_bucket(options, bucket)
    names = {f"fs.s3a.{name}": key for name, key in _HADOOP_S3.items()}
    settings = _own(S3, joined_options(options, hadoop), names)
    if _ANONYMOUS in _last(hadoop, options, "fs.s3a.aws.credentials.provider"):
        settings.setdefault("skip_signature", "true")
    profile = {**_profile("config"), **_profile("credentials")}
    environment = (os.environ.get(f"AWS_ENDPOINT{suffix}") for suffix in ("_URL_S3", "_URL", ""))
    endpoint = settings.pop("endpoint", None) or next(filter(None, environment), None)
    endpoint = endpoint or profile.get("endpoint_url")
    settings = {**_profile_keys(settings, profile), **settings, "bucket": bucket}
    if endpoint:
        plain = _last(hadoop, options, "fs.s3a.connection.ssl.enabled").lower() == "false"
        settings["endpoint"] = _with_scheme(endpoint.rstrip("/"), "http" if plain else "https")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    settings.setdefault("region", region or profile.get("region", "us-east-1"))
    return _address(S3, settings)


def aws_keys(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return AWS's keys among options, by obstore's names: `access_key_id` and so on."""
    found = _own(S3, options, {f"fs.s3a.{name}": key for name, key in _HADOOP_S3.items()})
    return {key: found[key] for key in _KEYS if key in found}


def oss(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of Alibaba Cloud OSS, by its S3 protocol."""
    names = {f"fs.oss.{name}": key for name, key in _HADOOP_OSS.items()}
    settings = _own("oss", options, names)
    for key, variable in (
        ("endpoint", "OSS_ENDPOINT"),
        ("region", "OSS_REGION"),
        ("session_token", "OSS_SESSION_TOKEN"),
        ("access_key_id", "OSS_ACCESS_KEY_ID"),
        ("secret_access_key", "OSS_ACCESS_KEY_SECRET"),
    ):
        # A token belongs to the keys beside it.
        if variable in os.environ and (key != "session_token" or "access_key_id" not in settings):
            settings.setdefault(key, os.environ[variable])
    if "access_key_secret" in settings:
        settings["secret_access_key"] = settings.pop("access_key_secret")
    if "endpoint" not in settings:
        raise HudiError("no endpoint; set the option fs.oss.endpoint or OSS_ENDPOINT")
    keys = {"access_key_id", "secret_access_key"}
    if not keys <= settings.keys() and settings.get("skip_signature", "").lower() not in _TRUE:
        # Those of the environment are for AWS.
        raise HudiError(
            "no credentials; set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET, or "
            "the options fs.oss.accessKeyId and fs.oss.accessKeySecret"
        )
    scheme, _, host = _with_scheme(settings["endpoint"], "https").partition("://")
    # OSS has no If-None-Match for writes; what must be exclusive is refused.
    fixed = {
        "bucket": bucket,
        "endpoint": f"{scheme}://{bucket}.{host.rstrip('/')}",
        "region": settings.get("region", "oss"),
        "virtual_hosted_style_request": "true",
        "conditional_put": "disabled",
    }
    return _address(S3, {**settings, **fixed})


def gcs(bucket: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a bucket of Google Cloud Storage."""
    return _address(GCS, {**_own(GCS, options, _HADOOP_GCS), "bucket": bucket})


def azure(container: str, account: str, endpoint: str, options: Mapping[str, str]) -> StoreAddress:
    """Return the address of a container of Azure Blob Storage or Data Lake Storage.

    Args:
        container: The container.
        account: The storage account; empty if options or the environment name it.
        endpoint: The account's endpoint outside of the public cloud; else empty.
        options: See the module.
    """
    settings = _own(AZURE, _of_account(options, account), _HADOOP_AZURE)
    tenant = _TENANT.match(settings.get("tenant_id", ""))
    if tenant is not None:
        settings["tenant_id"] = tenant.group(1)
    if account:
        settings["account_name"] = account
    elif "account_name" not in settings and "AZURE_STORAGE_ACCOUNT_NAME" not in os.environ:
        raise HudiError(
            f"no storage account; write abfss://{container}@ACCOUNT.dfs.core."
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
    if isinstance(certificate, str):
        of_client["root_certificate"] = certificate_text({"root_certificate": certificate})
    if settings.get("endpoint", "").startswith("http://"):
        of_client.setdefault("allow_http", True)
    return StoreAddress(kind, tuple(sorted(settings.items())), tuple(sorted(of_client.items())))


def _own(kind: str, options: Mapping[str, str], hadoop: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a cloud by their names in obstore, without the prefix."""
    others = tuple(one for other, of in _PREFIXES.items() if other != kind for one in of)
    settings = {}
    for key, value in options.items():
        name = hadoop.get(key, key)
        if name == key:
            name = name.lower()
            prefix = next((one for one in _PREFIXES[kind] if name.startswith(one)), "")
            if name.startswith(_ELSEWHERE) or (not prefix and name.startswith(others)):
                continue
            name = name[len(prefix) :]
        settings[_SYNONYMS.get(name, name)] = value
    return settings


def _of_bucket(options: Mapping[str, str], bucket: str) -> dict[str, str]:
    """Return what `fs.s3a.bucket.NAME.*` says of a bucket, as `fs.s3a.*`."""
    prefix = f"fs.s3a.bucket.{bucket}."
    return {
        f"fs.s3a.{key[len(prefix) :]}": value
        for key, value in options.items()
        if key.startswith(prefix)
    }


def _of_account(options: Mapping[str, str], account: str) -> dict[str, str]:
    """Drop the account's name from `fs.azure.*.ACCOUNT.dfs.core.windows.net`; its settings win."""
    general, own = {}, {}
    for key, value in options.items():
        name = next((one for one in _HADOOP_AZURE if key.startswith(f"{one}.")), None)
        if name is None:
            general[key] = value
        elif key[len(name) + 1 :].partition(".")[0] == account:
            own[name] = value
    return joined_options(general, own)


def _last(hadoop: Mapping[str, str], options: Mapping[str, str], key: str) -> str:
    return hadoop.get(key) or options.get(key, "")


def _with_scheme(endpoint: str, scheme: str) -> str:
    return endpoint if "://" in endpoint else f"{scheme}://{endpoint}"


def _profile_keys(given: Mapping[str, str], profile: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of `~/.aws/credentials`, if neither options nor the environment have any."""
    if {"access_key_id", "skip_signature"} & given.keys() or "AWS_ACCESS_KEY_ID" in os.environ:
        return {}
    name = os.environ.get("AWS_PROFILE")
    if name and not profile:
        raise HudiError(
            f"AWS_PROFILE: neither ~/.aws/config nor ~/.aws/credentials has the profile {name!r}"
        )
    keys = {key: profile[f"aws_{key}"] for key in _KEYS if f"aws_{key}" in profile}
    no_roles = os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    if not keys and no_roles and not any(name in os.environ for name in _ROLES):
        raise HudiError(
            "no credentials: there are none in the options, in AWS_ACCESS_KEY_ID and in the"
            " profile, and AWS_EC2_METADATA_DISABLED forbids to ask for the machine's role"
        )
    return keys


def _profile(file: str) -> Mapping[str, str]:
    default = Path.home() / ".aws" / file
    path = os.environ.get(
        "AWS_SHARED_CREDENTIALS_FILE" if file == "credentials" else "AWS_CONFIG_FILE", str(default)
    )
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path)
    except (OSError, UnicodeError, configparser.Error) as error:
        # Without the parser's message, which quotes the line.
        raise HudiError(f"{path} cannot be read: {type(error).__name__}") from None
    name = os.environ.get("AWS_PROFILE") or "default"
    section = name if file == "credentials" or name == "default" else f"profile {name}"
    return dict(parser[section]) if parser.has_section(section) else {}
