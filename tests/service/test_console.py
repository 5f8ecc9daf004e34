"""The console: who may open it, what it shows, and how it looks in a browser."""

import asyncio
import base64
import http.client
from pathlib import Path

import pytest

from devtools.runtime import free_port
from devtools.service import ServiceProcess
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.web.console import Console, OwnOverview
from pyhudi_expr.service.web.http import Request
from tests.service.certificates import make, service_tls, tls

_TOKEN = "a token of the tests"
_SECRET = "TXN-0042"
_PAPER = "getComputedStyle(document.querySelector('main')).backgroundColor"


def get_page(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


@pytest.fixture(scope="module")
def console_after_requests(tmp_path_factory, golden):
    """The port of a console after three requests, and the path of the table."""
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


def test_pages_show_tables_indexes_and_requests_but_no_constants(console_after_requests):
    port, table = console_after_requests
    status, headers, overview = get_page(port, "/")
    assert status == 200
    assert overview.count(table) == 1 + 2  # in the list of tables, and once for each request
    assert "/no/such/&lt;table&gt;" in overview
    assert "NOT_PRUNED" in overview
    assert "default-src 'none'" in headers["Content-Security-Policy"]

    path = table.replace("/", "%2F")
    status, _, table_page = get_page(port, f"/table?path={path}")
    assert status == 200
    for index in ("column_stats", "record_index", "merchant_idx"):
        assert index in table_page
    assert table_page.count("<circle") >= 3
    for page in (overview, table_page):
        assert _SECRET not in page
    assert "no Hudi table here" in get_page(port, "/table?path=%2Fno%2Fsuch%2F%3Ctable%3E")[2]


def test_only_requested_tables_have_a_page(console_after_requests, golden):
    port, _ = console_after_requests
    other = str(golden["cow_v9_txns_simple_meta"]).replace("/", "%2F")
    assert get_page(port, f"/table?path={other}")[0] == 404
    assert get_page(port, "/table")[0] == 404
    assert get_page(port, "/etc/passwd")[0] == 404


def test_requests_with_other_host_names_are_refused(console_after_requests):
    port, _ = console_after_requests
    assert get_page(port, "/", Host="evil.example")[0] == 421
    assert get_page(port, "/", Host=f"localhost:{port}")[0] == 200
    assert get_page(port, "/", Host=f"[::1]:{port}")[0] == 200


def test_the_token_is_required_when_configured(tmp_path):
    file = tmp_path / "token"
    file.write_text(_TOKEN)
    settings = ServiceSettings(token_file=str(file), console_address="127.0.0.1:9100")
    console = Console(settings, OwnOverview(Metrics()), Metrics())

    def status(authorization):
        headers = {"host": "127.0.0.1", "authorization": authorization}
        return asyncio.run(console.answer(Request("/", {}, headers))).status

    def basic(text):
        return "Basic " + base64.b64encode(text.encode()).decode()

    assert status(basic(f"anybody:{_TOKEN}")) == 200
    assert status(f"Bearer {_TOKEN}") == 200
    for wrong in ("", "Basic", "Basic !!", basic(_TOKEN), basic("anybody:wrong"), "Bearer wrong"):
        assert status(wrong) == 401


def test_a_client_certificate_is_required_when_configured(tmp_path):
    """Over the connection itself: without a certificate no page is sent."""
    secrets = make(tmp_path / "secrets")
    settings = ServiceSettings(**service_tls(secrets), console_address=f"127.0.0.1:{free_port()}")
    port = int(settings.console_address.rpartition(":")[2])

    def status(connection, name="localhost"):
        connection.request("GET", "/", headers={"Host": name})
        return connection.getresponse().status

    def status_over_tls(context, *name):
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        return status(connection, *name)

    async def all_callers():
        with Console(settings, OwnOverview(Metrics()), Metrics()).site.listening():
            status_with_certificate = await asyncio.to_thread(status_over_tls, tls(secrets))
            # By another name of the certificate, as a browser through a tunnel calls it.
            by_name = asyncio.to_thread(status_over_tls, tls(secrets), f"pruning-1:{port}")
            assert await by_name == 200
            with pytest.raises((OSError, http.client.HTTPException)):
                await asyncio.to_thread(status_over_tls, tls(secrets, certificate=None))
            plain = http.client.HTTPConnection("localhost", port, timeout=20)
            with pytest.raises((OSError, http.client.HTTPException)):
                await asyncio.to_thread(status, plain)
            return status_with_certificate

    assert asyncio.run(all_callers()) == 200


def test_a_table_outside_the_roots_is_not_read(golden, tmp_path):
    """A refused request about a table must not make the console read it."""
    table = str(golden["mor_v9_txns_simple_meta"])

    def shown_page(root):
        settings = ServiceSettings(console_address="127.0.0.1:9100", table_roots=[str(root)])
        metrics = Metrics()
        refused = PruneResponse(requestId="r", basePath=table, status=PruneStatus.NOT_PRUNED)
        metrics.answered(refused, 0.1, "roots")
        request = Request("/table", {"path": table}, {"host": "127.0.0.1"})
        return asyncio.run(
            Console(settings, OwnOverview(metrics), metrics).answer(request)
        ).body.decode()

    assert "merchant_idx" in shown_page(Path(table).parent)
    hidden = shown_page(tmp_path)
    assert "merchant_idx" not in hidden
    assert "problem" in hidden


@pytest.mark.parametrize("address", ["0.0.0.0:9100", "10.0.0.1:9100"])
def test_a_network_address_without_authentication_is_refused(address):
    with pytest.raises(SettingsError, match=r"console_address: .* other machines"):
        Console(ServiceSettings(console_address=address), OwnOverview(Metrics()), Metrics())


@pytest.mark.parametrize("address", ["9100", "localhost:", "localhost:x"])
def test_an_invalid_address_is_refused(address):
    with pytest.raises(SettingsError, match="console_address"):
        Console(ServiceSettings(console_address=address), OwnOverview(Metrics()), Metrics())


@pytest.mark.slow
@pytest.mark.browser
def test_in_a_browser_by_keyboard_light_and_dark(console_after_requests, chromium):
    port, table = console_after_requests
    papers = set()
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme)
        problems: list[str] = []
        page.on("console", lambda message, found=problems: found.append(message.text))
        page.on("pageerror", lambda error, found=problems: found.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        assert page.title() == "Pruning service"
        ordered_filtered_and_refreshed(page)
        papers.add(page.evaluate(_PAPER))
        for _ in range(40):
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


def ordered_filtered_and_refreshed(page):
    """By the links and the form, which need no script."""
    heading = page.get_by_role("heading", name="requests")
    requests = page.locator("section", has=heading).locator('td[data-name="table"]')
    assert requests.first.inner_text() == "/no/such/<table>"
    page.get_by_role("link", name="status").click()
    assert requests.last.inner_text() != "/no/such/<table>"
    page.get_by_role("searchbox").fill("No/Such")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=No%2FSuch*")
    assert requests.all_inner_texts() == ["/no/such/<table>"]
    page.get_by_role("link", name="10 s").click()
    assert page.locator('meta[http-equiv="refresh"]').get_attribute("content") == "10"
    assert requests.all_inner_texts() == ["/no/such/<table>"]
    page.get_by_role("link", name="stop").click()
    page.get_by_role("link", name="Show all").click()
    assert requests.count() == 3
