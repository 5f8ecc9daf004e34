"""Settings: their sources, invalid values, and that the documentation lists all of them."""

import json
import re
from pathlib import Path

import pytest

from pyhudi_expr.service.settings import (
    ServiceSettings,
    SettingsError,
    load,
    origins,
    unknown_variables,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(f"PYHUDI_{name.upper()}", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "service.toml"
    path.write_text('port = 1\nworkers = 7\ntable_roots = ["/a", "/b"]\n')
    return path


def test_the_command_line_overrides_the_environment_which_overrides_the_file(file, monkeypatch):
    assert load(file).port == 1
    monkeypatch.setenv("PYHUDI_PORT", "2")
    assert load(file).port == 2
    assert load(file, port=3).port == 3
    assert load(file, port=None).port == 2
    assert load(file).workers == 7
    assert load(file).table_roots == ("/a", "/b")
    assert load().workers == 1


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("/x", ("/x",)),
        ("/x, s3://lake/y", ("/x", "s3://lake/y")),
        ('["/x"]', ("/x",)),
        ('["/x,y", "/z"]', ("/x,y", "/z")),
        ("", ()),
    ],
)
def test_roots_in_the_environment_are_paths_or_json(monkeypatch, text, roots):
    monkeypatch.setenv("PYHUDI_TABLE_ROOTS", text)
    assert load().table_roots == roots


def test_roots_that_are_no_json_say_which_forms_there_are(monkeypatch):
    monkeypatch.setenv("PYHUDI_TABLE_ROOTS", '["/x"')
    with pytest.raises(SettingsError, match=r"^table_roots: .*json list.* commas"):
        load()


def test_an_option_that_no_store_has_prevents_the_start(tmp_path: Path):
    path = tmp_path / "service.toml"
    path.write_text('[storage_options]\naws_regoin = "S3CR3T"\naws_region = "x"\n')
    with pytest.raises(
        SettingsError, match=r"no object store has an option aws_regoin$"
    ) as refused:
        load(path)
    assert "S3CR3T" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("prot = 1", "prot: no setting has this name; did you mean port"),
        ("colour = 1", "colour: no setting has this name$"),
        ("port = 70000", "port"),
        ('workers = "many"', "workers"),
        ("port = ", "service.toml"),
    ],
)
def test_invalid_settings_are_named(tmp_path: Path, content, named):
    path = tmp_path / "service.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=named):
        load(path)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("PYHUDI_TABLE_ROOT", "PYHUDI_TABLE_ROOTS"),
        ("PYHUDI_TLS_CLIENTS_CA", "PYHUDI_TLS_CLIENT_CA"),
        ("PYHUDI_TOKENFILE", "PYHUDI_TOKEN_FILE"),
        ("pyhudi_hosts", "PYHUDI_HOST"),
    ],
)
def test_a_mistyped_variable_stops_the_start(variable, meant, monkeypatch):
    monkeypatch.setenv(variable, "x")
    with pytest.raises(SettingsError, match=f"{variable}: .*; did you mean {meant}\\?"):
        load()


def test_variables_of_others_are_left_alone(monkeypatch):
    monkeypatch.setenv("PYHUDI_HS2_TIMEOUT", "5")
    for name in ("PYHUDI_SERVICE_HOST", "PYHUDI_COLOUR"):
        monkeypatch.setenv(name, "x")
    assert load().host == "127.0.0.1"
    assert {"PYHUDI_SERVICE_HOST", "PYHUDI_COLOUR"} <= set(unknown_variables())
    assert "PYHUDI_HS2_TIMEOUT" not in unknown_variables()


def test_the_origin_of_each_setting_is_known(file, monkeypatch):
    monkeypatch.setenv("PYHUDI_WORKERS", "3")
    known = origins(file, ["host"])
    assert known == {
        "host": "command line",
        "workers": "PYHUDI_WORKERS",
        "port": str(file),
        "table_roots": str(file),
    }


def test_a_file_that_does_not_exist_is_an_error(tmp_path: Path):
    with pytest.raises(SettingsError, match="nowhere"):
        load(tmp_path / "nowhere.toml")


def test_the_documentation_has_every_setting_with_its_default_and_meaning():
    rows = re.findall(r"^\| `(\w+)` \| `(.*)` \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    documented = {name: (default, meaning) for name, default, meaning in rows}
    for name, field in ServiceSettings.model_fields.items():
        value = field.get_default(call_default_factory=True)
        default = value if isinstance(value, str) else json.dumps(value)
        default_text = f'"{default}"' if name.startswith("log_") else default
        assert documented[name] == (default_text, field.description)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("auto", Path("/caches/pyhudi")), ("/var/x", Path("/var/x")), ("", None)],
)
def test_the_snapshot_directory_defaults_to_the_users_cache(
    given: str, expected: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert load(snapshot_dir=given).snapshot_path == expected
