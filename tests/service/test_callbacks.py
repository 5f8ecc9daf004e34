"""Commit callbacks of Hudi's writers: who may send them, about which tables, and what they cause.

`tests/spark/builds/test_index_follow.py` has the whole way, from a writer's commit to the pruning.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from devtools.runtime import free_port
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.following import HEAD_BYTES
from pyhudi_expr.service.check import check
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.refreshing import Refresher
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.web import http as web
from pyhudi_expr.service.web.callbacks import Callbacks
from tests.service.running_server import PATIENCE
from tests.service.test_handler import request
from tests.tables.mdt.extension import example_index

_TOKEN = "a token of the tests"
_JSON = {"Content-Type": "application/json; charset=UTF-8"}


@pytest.fixture
def root(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A directory with two tables: `plain`, and `indexed` with an extension that lags."""
    source = golden["cow_v9_txns_nonpart_nometa"]
    shutil.copytree(source, tmp_path / "root" / "plain")
    indexed = tmp_path / "root" / "indexed"
    shutil.copytree(source, indexed)
    example_index.build(str(indexed), [("city 1", "key 1")])
    timeline = indexed / ".hoodie" / "timeline"
    newest = max(timeline.glob("*commit"))
    shutil.copy(newest, timeline / "29990101000000000_29990101000001000.commit")
    return tmp_path / "root"


def settings_of(root: Path, **more: object) -> ServiceSettings:
    address = f"127.0.0.1:{free_port()}"
    return ServiceSettings(callback_address=address, table_roots=[str(root)], **more)


class Answers:
    """Callbacks over HTTP, and what they caused; `send` returns the status."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self.metrics = metrics
        self.refresher = Refresher(settings, metrics)
        self.callbacks = Callbacks(settings, self.refresher, metrics)
        self.port = int(settings.callback_address.rpartition(":")[2])

    async def send(
        self, body: object, headers: Mapping[str, str] = _JSON, method: str = "POST"
    ) -> int:
        def post() -> int:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, "/", text, dict(headers))
            return connection.getresponse().status

        return await asyncio.to_thread(post)

    async def carried_out(self, number: int) -> dict[str, float]:
        """Run the refreshes until so many have ended, and none waits; their numbers by outcome."""
        running = asyncio.create_task(self.refresher.run())
        end = time.monotonic() + PATIENCE
        while self.refresher.waiting or sum(self.outcomes().values()) < number:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        running.cancel()
        return self.outcomes()

    def outcomes(self) -> dict[str, float]:
        return {
            labels["outcome"]: value
            for labels, value in samples(self.metrics, "pyhudi_index_refreshes_total")
        }


def samples(metrics: Metrics, name: str) -> list[tuple[dict[str, str], float]]:
    return [
        (sample.labels, sample.value)
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name == name
    ]


def message(table: Path, **more: object) -> dict[str, object]:
    return {"commitTime": "1", "tableName": "t", "basePath": str(table), **more}


def test_callbacks_are_answered_by_what_they_ask(root: Path, tmp_path: Path) -> None:
    other = shutil.copytree(root / "plain", tmp_path / "other")
    (root / "link").symlink_to(other)

    async def statuses() -> list[int]:
        answers = Answers(settings_of(root), Metrics())
        with answers.callbacks.site.listening():
            return [
                await answers.send(message(root / "plain")),
                await answers.send(message(root / "plain", hoodieWriteStat="x" * 10 * HEAD_BYTES)),
                await answers.send(message(other)),
                await answers.send(message(root / "link")),
                await answers.send(message(root / ".." / "other")),
                await answers.send({"tableName": "t"}),
                await answers.send(message(root / "plain"), {"Content-Type": "text/plain"}),
                await answers.send(message(root / "plain"), {**_JSON, "Host": "evil.example"}),
                await answers.send(message(root / "plain"), method="GET"),
                await answers.send(b"", {**_JSON, "Content-Length": str(web.MAX_BODY_BYTES + 1)}),
            ]

    assert asyncio.run(statuses()) == [202, 202, 403, 403, 403, 400, 415, 421, 405, 413]


def test_a_callback_shows_the_services_token(root: Path, tmp_path: Path) -> None:
    """As Hudi sends it by `hoodie.write.commit.callback.http.api.key`, or `...custom.headers`."""
    file = tmp_path / "token"
    file.write_text(_TOKEN)

    async def statuses() -> list[int]:
        answers = Answers(settings_of(root, token_file=str(file)), Metrics())
        with answers.callbacks.site.listening():
            given = [
                await answers.send(message(root / "plain"), {**_JSON, **header})
                for header in (
                    {"HUDI-CALLBACK-KEY": _TOKEN},
                    {"HUDI-CALLBACK-KEY": "hudi_write_commit_http_callback"},
                    {"HUDI-CALLBACK-KEY": "ours", "Authorization": f"Bearer {_TOKEN}"},
                    {"HUDI-CALLBACK-KEY": _TOKEN, "Authorization": "Bearer wrong"},
                )
            ]
            given.append(await answers.send(message(root / "plain")))
        assert list(answers.refresher.waiting) == [str(root / "plain")]
        return given

    assert asyncio.run(statuses()) == [202, 401, 202, 401, 401]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"table_roots": []}, "set table_roots"),
        ({"callback_address": "0.0.0.0:9101"}, "can be reached from other machines"),
        ({"callback_address": "9101"}, "is not of the form host:port"),
    ],
)
def test_a_service_that_anybody_could_make_write_does_not_start(
    tmp_path: Path, settings: Mapping[str, object], reason: str
) -> None:
    given = settings_of(tmp_path).model_copy(update=settings)
    with pytest.raises(SettingsError, match=f"callback_address: .*{reason}"):
        Callbacks(given, Refresher(given, Metrics()), Metrics())


def test_the_check_says_who_may_have_indexes_refreshed(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(_TOKEN)
    settings = settings_of(root, token_file=str(file))
    said = check(settings, {}).access["callbacks"]
    assert said.startswith(f"{settings.callback_address}, from this machine: who shows the token")
    assert check(ServiceSettings(), {}).access["callbacks"] == "off"
    with pytest.raises(SettingsError, match="set table_roots"):
        check(settings.model_copy(update={"table_roots": ()}), {})


def test_without_pyspark_the_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyhudi_expr.service.refreshing.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"need click and pyspark.*service,cli,spark"):
        Refresher(settings_of(tmp_path), Metrics())


def test_calls_about_a_table_that_waits_are_one_refresh(root: Path) -> None:
    async def outcomes() -> dict[str, float]:
        answers = Answers(settings_of(root), Metrics())
        for _ in range(5):
            assert answers.refresher.request(str(root / "plain"))
        return await answers.carried_out(1)

    assert asyncio.run(outcomes()) == {"no_index": 1}


def test_more_tables_than_the_limit_are_refused(root: Path) -> None:
    async def taken() -> list[bool]:
        answers = Answers(settings_of(root), Metrics())
        given = [answers.refresher.request(f"/t{n}") for n in range(1001)]
        return [*given[-2:], answers.refresher.request("/t0")]

    assert asyncio.run(taken()) == [True, False, True]


def test_a_refresh_that_fails_is_logged_and_counted_and_the_next_one_runs(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command fails at once: it does not know the option."""

    async def outcomes() -> dict[str, float]:
        answers = Answers(settings_of(root, refresh_options=["--no-such-option"]), Metrics())
        for table in ("indexed", "none", "plain"):
            answers.refresher.request(str(root / table))
        found = await answers.carried_out(3)
        assert {value for _, value in samples(answers.metrics, "pyhudi_index_lag_instants")} == {1}
        return found

    assert asyncio.run(outcomes()) == {"failed": 2, "no_index": 1}
    log = "".join(capfd.readouterr())  # standard error where logs are configured
    assert "--no-such-option" in log
    assert "no Hudi table here" in log


def test_a_refresh_that_takes_too_long_is_ended(root: Path) -> None:
    async def outcomes() -> dict[str, float]:
        answers = Answers(settings_of(root, refresh_seconds=0.01), Metrics())
        answers.refresher.request(str(root / "indexed"))
        return await answers.carried_out(1)

    assert asyncio.run(outcomes()) == {"failed": 1}


def test_requests_show_how_far_the_extensions_indexes_lag(root: Path) -> None:
    """The table is not read for a scrape: it is gone by then."""
    metrics = Metrics()
    handler = PruningHandler(Pruner(), ServiceSettings(), metrics)
    for table in ("indexed", "plain"):
        handler.prune(request(str(root / table)))
    shutil.rmtree(root)
    labels = [{"table": str(root / "indexed"), "index": name} for name in ("city", "record_index")]
    assert samples(metrics, "pyhudi_index_lag_instants") == [(one, 1.0) for one in labels]
    assert [one for one, _ in samples(metrics, "pyhudi_index_lag_seconds")] == labels
