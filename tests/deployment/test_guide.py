"""docs/deployment.md in an empty directory: the steps without root, systemd and a cluster."""

from __future__ import annotations

import grp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from thrift.Thrift import TException

from devtools.process import ServerProcess
from devtools.runtime import ROOT, free_port, is_listening
from pyhudi_expr.cli.main import main
from tests.docs.documents import Piece, Runner, pieces

DOCUMENT = (ROOT / "docs" / "deployment.md").read_text()
DIRECTORY = ROOT / "docker" / "systemd"
UNIT = (DIRECTORY / "pyhudi.service").read_text()
#: The first column of the tables of messages.
MESSAGES = re.findall(
    r"^\| `(.+?)` \|", DOCUMENT.partition("## What the messages")[2], re.MULTILINE
)
_SECONDS = 60.0
#: Programs of steps that a test cannot take; some are checked in part below.
_NOT_RUN = {
    "useradd",
    "python3",
    "/opt/pyhudi/bin/pip",
    "systemctl",
    "journalctl",
    "docker",
    "docker/build.sh",
    "kubectl",
    "helm",
    "sed",
    "gpg",
    "ssh",
    "curl",
    "sha256sum",
}


def steps(*programs: str) -> list[Piece]:
    """The document's lines with these programs."""
    shell = pieces(Runner.DEPLOYMENT, "shell")
    return [one for one in shell if one.words[0] in programs]


@dataclass(frozen=True)
class Host:
    """The administrator's directory, with the host's files below it."""

    directory: Path
    port: int

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Runs a line of the document."""
        command = ["bash", "-c", self.here(line)]
        return subprocess.run(command, cwd=self.directory, capture_output=True, text=True)

    def check(self, **variables: str) -> int:
        """Runs the document's check, in this process; its exit code."""
        (step,) = steps("runuser")
        words = shlex.split(self.here(step.text))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return main(words[words.index("serve") :])

    def here(self, line: str) -> str:
        """The line with this host's paths, name, group and port."""
        changes = {
            "runuser -u pyhudi -- ": "",
            "-g pyhudi": f"-g {grp.getgrgid(os.getgid()).gr_name}",
            "/opt/pyhudi/bin/pyhudi": f"{sys.executable} -m pyhudi_expr.cli",
            "/etc/pyhudi": f"{self.directory}/etc",
            "/etc/systemd/system": f"{self.directory}/units",
            "pruning.example.com": "localhost",
            "9099": str(self.port),
        }
        for text, instead in changes.items():
            line = line.replace(text, instead)
        return line

    def call(self, line: str = "", changed: str = "") -> None:
        """Runs the document's program, of which a part may be another."""
        (program,) = pieces(Runner.DEPLOYMENT, "python")
        assert line in program.text
        text = self.here(program.text.replace(line, changed) if line else program.text)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.directory)
            exec(compile(text, "document", "exec"), {})  # noqa: S102  the document's own


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """The steps up to the check."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    directory = tmp_path_factory.mktemp("host")
    host = Host(directory, free_port())
    (directory / "units").mkdir()
    with tarfile.open(directory / "pyhudi-systemd-0.1.0.tar.gz", "w:gz") as archive:
        for path in ("systemd/pyhudi.service", "systemd/service.toml", "secrets.sh"):
            archive.add(ROOT / "docker" / path, Path(path).name)
    for step in steps("tar", "./secrets.sh", "install"):
        done = host.run(step.text)
        assert done.returncode == 0, f"{step.text}: {done.stderr}"
    settings = directory / "etc" / "service.toml"
    text = host.here(settings.read_text()).replace("127.0.0.1:9100", f"127.0.0.1:{free_port()}")
    settings.write_text(f"port = {host.port}\n{text}")
    return host


@pytest.fixture(scope="module")
def serving(host: Host) -> Iterator[Host]:
    """The service by the unit's command."""
    (command,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    process = ServerProcess(
        "the pruning service",
        host.here(command).split(),
        output=host.directory / "service.log",
        cwd=host.directory,
        env=os.environ,
    )
    try:
        process.wait_until(lambda: is_listening(host.port), _SECONDS)
        yield host
    finally:
        process.stop()


def test_every_step_is_run_or_known() -> None:
    run = {"tar", "./secrets.sh", "install", "runuser"}
    assert {one.words[0] for one in pieces(Runner.DEPLOYMENT, "shell")} == run | _NOT_RUN


def test_the_unit_and_its_settings_are_installed(host: Host) -> None:
    assert (host.directory / "units" / "pyhudi.service").read_text() == UNIT
    for named in re.findall(r'"/etc/pyhudi/([^"]+)"', (DIRECTORY / "service.toml").read_text()):
        assert (host.directory / "etc" / named).is_file()


def test_the_check_shows_what_the_guide_shows(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert host.check() == 0
    checked = capsys.readouterr().out
    (shown,) = re.findall(r"```text\n(Settings\n.*?)```", DOCUMENT, re.DOTALL)
    for line in host.here(shown).splitlines():
        if "metrics" not in line and "9099" not in line and not line.endswith("..."):
            assert " ".join(line.split()) in " ".join(checked.split())
    assert "metrics" in checked


def test_the_program_of_the_guide_is_answered(
    serving: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.call()
    assert capsys.readouterr().out == f"{version('pyhudi-expr')}\n"


def test_the_first_line_of_the_log_says_what_is_open(serving: Host) -> None:
    first = json.loads((serving.directory / "service.log").read_text().splitlines()[0])
    for name in ("tls", "token", "roots", "metrics", "console"):
        assert f"`{name}`" in DOCUMENT
        assert name in first
    assert first["tls"] == "on, callers show a certificate"
    assert first["token"] == "required"
    assert first["roots"] == ["/warehouse"]


def test_a_wrong_token_is_reported_as_in_the_guide(serving: Host) -> None:
    file = serving.directory / "secrets" / "pruning-token"
    token = file.read_text()
    file.chmod(0o644)
    file.write_text("not this one, but another\n")
    try:
        with pytest.raises(TException, match=MESSAGES[0]) as refused:
            serving.call()
    finally:
        file.write_text(token)
    assert MESSAGES[0] == "the caller's token is not this service's"
    assert token.strip() not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        ("token=token", "token=None", "the service needs a token, and the caller shows none"),
        ("tls=tls, ", "", "closed the connection before it answered"),
        ("tls.load_cert_chain", "print", "closed the connection before it answered"),
        ('cafile="secrets/ca.crt"', "", "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_a_caller_without_what_it_needs_is_told_so(
    serving: Host, line: str, changed: str, message: str
) -> None:
    assert any(message in one for one in MESSAGES)
    with pytest.raises(TException, match=message):
        serving.call(line, changed)


def test_a_mistyped_variable_is_reported_as_in_the_guide(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert host.check(PYHUDI_TABLE_ROOT="/warehouse") == 1
    (expected,) = (one for one in MESSAGES if "PYHUDI_TABLE_ROOT:" in one)
    assert capsys.readouterr().err == f"pyhudi: {expected}\n"


def test_a_missing_token_is_reported_as_in_the_guide(
    host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert host.check(PYHUDI_TOKEN_FILE=str(tmp_path / "none")) == 1
    assert re.search(r"token_file: .* cannot be read", capsys.readouterr().err)


def test_the_secret_has_the_keys_of_the_chart(host: Host) -> None:
    (step,) = (one for one in steps("kubectl") if {"secret", "pruning"} <= set(one.words))
    made = dict(word.split("=")[1:3] for word in step.words if word.startswith("--from-file"))
    helpers = (ROOT / "docker/helm/templates/_helpers.tpl").read_text()
    assert set(made) == set(re.findall(r'"/run/pyhudi/([^"]+)"', helpers))
    assert all((host.directory / file).is_file() for file in made.values())


def test_the_secret_of_object_stores_has_the_key_of_the_chart() -> None:
    (step,) = (one for one in steps("kubectl") if {"secret", "lake"} <= set(one.words))
    deployment = (ROOT / "docker/helm/templates/deployment.yaml").read_text()
    assert re.findall(r"--from-file=(\S+)", step.text) == re.findall(
        r"key: (options\S+)}", deployment
    )


def test_a_container_serves_with_the_settings_of_the_guide(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    (step,) = (one for one in steps("docker") if one.words[1] == "run")
    options = list(zip(step.words, step.words[1:], strict=False))
    mounted = [
        given.removesuffix(":ro").replace("$PWD", str(host.directory)).split(":")
        for option, given in options
        if option == "--volume"
    ]
    with pytest.MonkeyPatch.context() as patch:
        for option, given in options:
            if option == "--env":
                name, _, value = given.partition("=")
                for here, there in mounted:
                    value = value.replace(there, here)
                patch.setenv(name, value)
        assert main(["serve", "--check"]) == 0
    assert "0.0.0.0:9099, from the network: who shows the token" in capsys.readouterr().out


def test_pods_have_the_image_that_was_pushed(tmp_path: Path) -> None:
    (pushed,) = (one.words[-1] for one in steps("docker") if one.words[1] == "push")
    (install,) = (one.text for one in steps("helm") if one.words[1] == "install")
    repository, tag = re.findall(r"image\.\w+=(\S+)", install)
    assert f"{repository}:{tag}" == pushed
    (change,) = steps("sed")
    made = subprocess.run(
        ["bash", "-c", change.text.partition(" |")[0].rstrip()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.findall(r"image: (.*)", made) == [f'"{pushed}"']


def test_the_values_of_the_chart_that_the_guide_names_exist() -> None:
    values = yaml.safe_load((ROOT / "docker/helm/values.yaml").read_text())
    text = DOCUMENT.partition("## Kubernetes")[2]
    named = re.findall(r"`(tables\.claim|storageOptionsSecret|settings\.\w+|allowedFrom)", text)
    assert len(set(named)) == 4
    for name in (*named, "image.repository"):
        value = values
        for part in name.split("."):
            value = value[part]
