"""A Kerberos realm as a child process: Debian's krb5-kdc on a free port of this machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from devtools.process import ServerProcess
from devtools.runtime import free_port, is_listening

REALM = "EXAMPLE.COM"
_PROGRAMS = ("kdb5_util", "kadmin.local", "krb5kdc")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS = 30.0


def missing_programs() -> list[str]:
    """Return what Debian's packages krb5-kdc and krb5-admin-server would install."""
    return [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]


@contextmanager
def running_realm(
    home: Path, keytabs: Mapping[str, tuple[str, ...]]
) -> Iterator[Mapping[str, str]]:
    """Run a realm with its files in `home`; yield the environment of its members.

    Args:
        home: An existing directory.
        keytabs: The principals in each keytab, which is a file of this name in `home`. A principal
            may have options of kadmin's `addprinc` before its name.

    Raises:
        subprocess.CalledProcessError: The realm cannot be made.
        devtools.process.ServerError: Its server did not start.
    """
    port = free_port()
    client, server = home / "krb5.conf", home / "kdc.conf"
    client.write_text(
        f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_realm = false\n"
        "dns_lookup_kdc = false\ndns_canonicalize_hostname = false\nrdns = false\n"
        f"udp_preference_limit = 1\n[realms]\n{REALM} = {{\nkdc = 127.0.0.1:{port}\n}}\n"
    )
    server.write_text(
        f"[kdcdefaults]\nkdc_ports = {port}\nkdc_tcp_ports = {port}\n[realms]\n{REALM} = {{\n"
        f"database_name = {home}/principals\nkey_stash_file = {home}/stash\n}}\n"
    )
    environment = {
        "KRB5_CONFIG": str(client),
        "KRB5_KDC_PROFILE": str(server),
        "JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={client}",
    }
    with_programs = {**os.environ, **environment, "PATH": _PATH}

    def run(*command: str) -> None:
        subprocess.run(command, env=with_programs, check=True, capture_output=True)

    run("kdb5_util", "create", "-s", "-P", "wonderland")
    for keytab, principals in keytabs.items():
        for principal in principals:
            run("kadmin.local", "-q", f"addprinc -randkey {principal}")
            run("kadmin.local", "-q", f"ktadd -k {home / keytab} {principal.split()[-1]}")
    output = home / "krb5kdc.log"
    process = ServerProcess("krb5kdc", ["krb5kdc", "-n"], output=output, env=with_programs)
    try:
        process.wait_until(lambda: is_listening(port), _SECONDS)
        yield MappingProxyType(environment)
    finally:
        process.stop()
