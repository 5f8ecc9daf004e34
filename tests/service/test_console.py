"""The console: who may open it, what it tells, and how it looks in a browser."""

import asyncio
import base64
import http.client
from pathlib import Path

import pytest

from devtools.runtime import free_port
from devtools.service import ServiceProcess
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.ttypes import PruneResponse, PruneStatus
from pyhudi_expr.service.client import PruningClient
from pyhudi_expr.service.console import Console
from pyhudi_expr.service.http import Request
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from tests.service.certificates import make, service_tls, tls

_TOKEN = "a token of the tests"
_SECRET = "TXN-0042"


def got(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


@pytest.fixture(scope="module")
def asked(tmp_path_factory, golden):
    """A console after three questions: the port and the table's path."""
    table = str(golden["mor_v9_txns_simple_meta"])
    port = free_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYHUDI_CONSOLE_ADDRESS", f"127.0.0.1:{port}")
        service = ServiceProcess(tmp_path_factory.mktemp("console"))
        service.start()
    try:
        with PruningClient("127.0.0.1", service.port, timeout=30) as client:
            client.prune(table, parse_predicate(f"txn_id = '{_SECRET}'"))
            client.prune(table, parse_predicate(f"sqrt(amount) > 3 AND txn_id < '{_SECRET}'"))
            client.prune("/no/such/<table>", parse_predicate("a = 1"))
        yield port, table
    finally:
        service.stop()


def test_tables_indexes_and_requests_are_told_and_no_constants(asked):
    port, table = asked
    status, headers, overview = got(port, "/")
    assert status == 200
    assert overview.count(table) == 1 + 2  # in the list of tables, and for each request
    assert "/no/such/&lt;table&gt;" in overview
    assert "NOT_PRUNED" in overview
    assert "default-src 'none'" in headers["Content-Security-Policy"]

    path = table.replace("/", "%2F")
    status, _, shown = got(port, f"/table?path={path}")
    assert status == 200
    for index in ("column_stats", "record_index", "merchant_idx"):
        assert index in shown
    assert shown.count("<circle") >= 3
    for page in (overview, shown):
        assert _SECRET not in page
    assert "no Hudi table here" in got(port, "/table?path=%2Fno%2Fsuch%2F%3Ctable%3E")[2]


def test_only_tables_that_were_asked_about_are_looked_at(asked, golden):
    port, _ = asked
    other = str(golden["cow_v9_txns_simple_meta"]).replace("/", "%2F")
    assert got(port, f"/table?path={other}")[0] == 404
    assert got(port, "/table")[0] == 404
    assert got(port, "/etc/passwd")[0] == 404


def test_pages_under_other_names_are_refused(asked):
    port, _ = asked
    assert got(port, "/", Host="evil.example")[0] == 421
    assert got(port, "/", Host=f"localhost:{port}")[0] == 200
    assert got(port, "/", Host=f"[::1]:{port}")[0] == 200


def test_the_token_is_wanted_where_the_service_wants_one(tmp_path):
    file = tmp_path / "token"
    file.write_text(_TOKEN)
    settings = ServiceSettings(token_file=str(file), console_address="127.0.0.1:9100")
    console = Console(settings, Metrics())

    def status(authorization):
        headers = {"host": "127.0.0.1", "authorization": authorization}
        return asyncio.run(console.answer(Request("/", {}, headers))).status

    def basic(text):
        return "Basic " + base64.b64encode(text.encode()).decode()

    assert status(basic(f"anybody:{_TOKEN}")) == 200
    assert status(f"Bearer {_TOKEN}") == 200
    for wrong in ("", "Basic", "Basic !!", basic(_TOKEN), basic("anybody:wrong"), "Bearer wrong"):
        assert status(wrong) == 401


def test_the_certificate_is_wanted_where_the_service_wants_one(tmp_path):
    """Over the connection itself: who shows none is told no page."""
    secrets = make(tmp_path / "secrets")
    settings = ServiceSettings(**service_tls(secrets), console_address=f"127.0.0.1:{free_port()}")
    port = int(settings.console_address.rpartition(":")[2])

    def status(connection):
        connection.request("GET", "/")
        return connection.getresponse().status

    def asked(context):
        return status(http.client.HTTPSConnection("localhost", port, timeout=20, context=context))

    async def all_callers():
        async with await Console(settings, Metrics()).listen():
            shown = await asyncio.to_thread(asked, tls(secrets))
            with pytest.raises((OSError, http.client.HTTPException)):
                await asyncio.to_thread(asked, tls(secrets, certificate=None))
            plain = http.client.HTTPConnection("localhost", port, timeout=20)
            with pytest.raises((OSError, http.client.HTTPException)):
                await asyncio.to_thread(status, plain)
            return shown

    assert asyncio.run(all_callers()) == 200


def test_a_table_beyond_the_roots_is_not_read(golden, tmp_path):
    """Somebody may have asked about it; the service refused it, and so does the console."""
    table = str(golden["mor_v9_txns_simple_meta"])

    def shown(root):
        settings = ServiceSettings(console_address="127.0.0.1:9100", table_roots=[str(root)])
        metrics = Metrics()
        refused = PruneResponse(requestId="r", basePath=table, status=PruneStatus.NOT_PRUNED)
        metrics.answered(refused, 0.1, "roots")
        request = Request("/table", {"path": table}, {"host": "127.0.0.1"})
        return asyncio.run(Console(settings, metrics).answer(request)).body.decode()

    assert "merchant_idx" in shown(Path(table).parent)
    hidden = shown(tmp_path)
    assert "merchant_idx" not in hidden
    assert "problem" in hidden


@pytest.mark.parametrize("address", ["0.0.0.0:9100", "10.0.0.1:9100"])
def test_a_network_without_access_rules_is_refused(address):
    with pytest.raises(SettingsError, match=r"console_address: .* other machines"):
        Console(ServiceSettings(console_address=address), Metrics())


@pytest.mark.parametrize("address", ["9100", "localhost:", "localhost:x"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(SettingsError, match="console_address"):
        Console(ServiceSettings(console_address=address), Metrics())


@pytest.mark.slow
@pytest.mark.browser
def test_in_a_browser_by_keyboard_light_and_dark(asked, chromium):
    port, table = asked
    papers = set()
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme)
        problems = []
        page.on("console", lambda message, found=problems: found.append(message.text))
        page.on("pageerror", lambda error, found=problems: found.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        assert page.title() == "Pruning service"
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == table:
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/table?path=*")
        assert page.locator("h1").inner_text() == table
        assert page.get_by_role("cell", name="merchant_idx", exact=True).count() == 1
        assert page.get_by_role("img").count() >= 1
        assert problems == []
        page.close()
    assert len(papers) == 2
