"""HiveServer2 with Kerberos and LDAP, by a real KDC and directory: docs/hive-security.md.

Needs Debian's krb5-kdc, krb5-admin-server and krb5-user and Python's `kerberos`, or slapd.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyhive import hive

from devtools.hiveserver import ENGINES, HiveServer, KerberosHive
from devtools.process import ServerProcess
from devtools.runtime import free_port, is_listening
from devtools.scan_reports import ScanReports
from pyhudi_expr.cli.main import main
from tests.docs.documents import Runner, pieces

pytestmark = [pytest.mark.hive, pytest.mark.long]

_REALM = "EXAMPLE.COM"
_PASSWORD = "wonderland"
_SECONDS = 30.0
_SECURE_HADOOP = """
<configuration>
  <property><name>hadoop.security.authentication</name><value>kerberos</value></property>
  <property><name>hadoop.proxyuser.hive.hosts</name><value>*</value></property>
  <property><name>hadoop.proxyuser.hive.groups</name><value>*</value></property>
  <property><name>yarn.resourcemanager.principal</name><value>hive/localhost@EXAMPLE.COM</value></property>
</configuration>
"""
_QUERY = "SELECT txn_id FROM trips WHERE region = 'us'"


class LdapHive(HiveServer):
    """A HiveServer2 that asks a directory for its users, of which alice is the only one."""

    def connect(self, user: str = "") -> hive.Connection:
        return hive.connect(
            "localhost", self.port, auth="LDAP", username="alice", password=_PASSWORD
        )


def needs(*programs: str) -> None:
    """Skips the test without these programs."""
    missing = [one for one in programs if shutil.which(one, path="/usr/sbin:/usr/bin") is None]
    if missing:
        pytest.skip(f"{missing} are missing")


@contextmanager
def server_process(name: str, command: list[str], port: int, directory: Path) -> Iterator[None]:
    """Runs a server until the end of the block."""
    process = ServerProcess(name, command, output=directory / f"{name}.log", cwd=directory)
    try:
        process.wait_until(lambda: is_listening(port), _SECONDS)
        yield
    finally:
        process.stop()


def succeeds(*command: object, given: str | None = None) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, input=given, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A realm with alice, who has a ticket, and HiveServer2; its keytab."""
    needs("kdb5_util", "kadmin.local", "krb5kdc", "kinit")
    if importlib.util.find_spec("kerberos") is None:
        pytest.skip("Python's package kerberos is missing")
    home = tmp_path_factory.mktemp("kerberos")
    port = free_port()
    client, server = home / "krb5.conf", home / "kdc.conf"
    client.write_text(
        textwrap.dedent(
            f"""
            [libdefaults]
              default_realm = {_REALM}
              dns_lookup_realm = false
              dns_lookup_kdc = false
              dns_canonicalize_hostname = false
              rdns = false
              udp_preference_limit = 1
            [realms]
              {_REALM} = {{
                kdc = 127.0.0.1:{port}
              }}
            [domain_realm]
              localhost = {_REALM}
            """
        )
    )
    server.write_text(
        textwrap.dedent(
            f"""
            [kdcdefaults]
              kdc_ports = {port}
              kdc_tcp_ports = {port}
            [realms]
              {_REALM} = {{
                database_name = {home}/principals
                key_stash_file = {home}/stash
              }}
            """
        )
    )
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PATH", "/usr/sbin:/usr/bin", prepend=":")
        environment.setenv("KRB5_CONFIG", str(client))
        environment.setenv("KRB5_KDC_PROFILE", str(server))
        environment.setenv("KRB5CCNAME", f"FILE:{home}/tickets")
        environment.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={client}")
        succeeds("kdb5_util", "create", "-s", "-P", _PASSWORD)
        for query in (
            "addprinc -randkey hive/localhost",
            f"ktadd -k {home}/hive.keytab hive/localhost",
            f"addprinc -pw {_PASSWORD} alice",
        ):
            succeeds("kadmin.local", "-q", query)
        with server_process("krb5kdc", ["krb5kdc", "-n"], port, home):
            succeeds("kinit", "alice", given=f"{_PASSWORD}\n")
            yield home / "hive.keytab"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A directory with alice; its address."""
    needs("slapd", "slapadd")
    home = tmp_path_factory.mktemp("ldap")
    (home / "data").mkdir()
    settings = home / "slapd.conf"
    schemas = ("core", "cosine", "inetorgperson")
    settings.write_text(
        "".join(f"include /etc/ldap/schema/{one}.schema\n" for one in schemas)
        + f"pidfile {home}/pid\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n"
        f'database mdb\nsuffix "dc=example,dc=com"\ndirectory {home}/data\n'
    )
    (home / "people.ldif").write_text(
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\n"
        "o: example\ndc: example\n\n"
        "dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n"
        "dn: uid=alice,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: alice\n"
        f"cn: Alice\nsn: Alice\nuserPassword: {_PASSWORD}\n"
    )
    slapd = shutil.which("slapd", path="/usr/sbin")
    succeeds(f"{Path(str(slapd)).parent}/slapadd", "-f", settings, "-l", home / "people.ldif")
    port = free_port()
    address = f"ldap://127.0.0.1:{port}"
    command = [str(slapd), "-f", str(settings), "-h", address, "-d", "0"]
    with server_process("slapd", command, port, home):
        yield address


@pytest.fixture(scope="module")
def pruning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """HiveServer2's settings for a service that needs a token."""
    home = tmp_path_factory.mktemp("pruning")
    token = home / "token"
    token.write_text("correct horse battery staple\n")
    port = free_port()
    command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--port", str(port)]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYHUDI_TOKEN_FILE", str(token))
        environment.setenv("PYHUDI_SNAPSHOT_DIR", "")
        with server_process("pruning", command, port, home):
            yield {
                "hudi.pruning.service.addresses": f"127.0.0.1:{port}",
                "hudi.pruning.token.file": str(token),
                "hudi.pruning.timeout.ms": "20000",
            }


@pytest.fixture
def reports(tmp_path: Path) -> ScanReports:
    return ScanReports(tmp_path / "reports")


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> Path:
    return golden["cow_v9_txns_simple_meta"]


def documented(auth: str, server: HiveServer, table: Path) -> list[str]:
    """The words of the document's command for this way to authenticate."""
    (piece,) = (one for one in pieces(Runner.AUTHENTICATION, "shell") if auth in one.words)
    here = {
        "/warehouse/trips": str(table),
        "hs2.example.com:10000": f"localhost:{server.port}",
    }
    return [here.get(word, word) for word in piece.words[1:]]


def registers_and_prunes(words: list[str], server: HiveServer, reports: ScanReports) -> None:
    """Registers the table by the options of `hive doctor`, and compares rows."""
    register = ["register" if word == "doctor" else word for word in words]
    assert main([*register, "--name", "trips"]) == 0
    assert main([*words, "--name", "trips"]) == 0
    with server.session(ENGINES["fetch"]) as session:
        reports.take()
        pruned = sorted(session.run(_QUERY))
        scan = reports.take()
        session.set({"hudi.pruning.enabled": "false"})
        assert sorted(session.run(_QUERY)) == pruned
        assert session.run("SELECT logged_in_user()") == [("alice",)]
    assert pruned
    assert scan.outcomes == ("PRUNED",)
    assert scan.files_kept < scan.files_considered


@pytest.mark.parametrize("do_as", ["false", "true"])
def test_kerberos(
    do_as: str,
    kerberos: Path,
    pruning: dict[str, str],
    table: Path,
    reports: ScanReports,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {
        **pruning,
        **reports.settings(),
        "hive.server2.authentication": "KERBEROS",
        "hive.server2.authentication.kerberos.principal": f"hive/localhost@{_REALM}",
        "hive.server2.authentication.kerberos.keytab": str(kerberos),
        "hive.server2.enable.doAs": do_as,
    }
    server = KerberosHive(tmp_path / "hive", settings=settings)
    (server.run_dir / "conf").mkdir(parents=True)
    (server.run_dir / "conf" / "core-site.xml").write_text(_SECURE_HADOOP)
    with server:
        words = documented("KERBEROS", server, table)
        registers_and_prunes(words, server, reports)
        capsys.readouterr()
        monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
        assert main(words) == 1
        assert "failed   HiveServer2: " in capsys.readouterr().out


def test_ldap(
    directory: str,
    pruning: dict[str, str],
    table: Path,
    reports: ScanReports,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {
        **pruning,
        **reports.settings(),
        "hive.server2.authentication": "LDAP",
        "hive.server2.authentication.ldap.url": directory,
        "hive.server2.authentication.ldap.baseDN": "ou=people,dc=example,dc=com",
    }
    monkeypatch.setenv("PYHUDI_HS2_PASSWORD", _PASSWORD)
    with LdapHive(tmp_path / "hive", settings=settings) as server:
        words = documented("LDAP", server, table)
        registers_and_prunes(words, server, reports)
        capsys.readouterr()
        monkeypatch.setenv("PYHUDI_HS2_PASSWORD", "of another")
        assert main(words) == 1
        assert "failed   HiveServer2: " in capsys.readouterr().out


def test_a_wrong_token_costs_pruning_and_no_rows(
    pruning: dict[str, str], table: Path, reports: ScanReports, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("a token of another service\n")
    settings = {**pruning, **reports.settings(), "hudi.pruning.token.file": str(wrong)}
    with HiveServer(tmp_path / "hive", settings=settings) as server:
        with server.session(ENGINES["fetch"]) as session:
            session.run(
                "CREATE EXTERNAL TABLE trips STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
                f" LOCATION '{table}'"
            )
            start = len(server.log())
            reports.take()
            rows = sorted(session.run(_QUERY))
            assert reports.take().outcomes == ("UNREACHABLE",)
            session.set({"hudi.pruning.enabled": "false"})
            assert sorted(session.run(_QUERY)) == rows
        reason = "the caller's token is not this service's"
        assert reason in server.log_until([reason], start)
