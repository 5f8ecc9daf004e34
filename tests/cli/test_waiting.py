"""Commands that take more than a second show their progress."""

import io
import socket
import sys
import threading
import time

import pytest

from pyhudi_expr.api import progress_bar
from pyhudi_expr.cli.main import main
from pyhudi_expr.rows.pruned_rows import PrunedRows
from pyhudi_expr.tables.hudi_table import HudiTable

_LIMIT = 20.0
#: Commands that read a table, without a service.
_READING = (
    ("inspect", "{table}"),
    ("explain", "{table}", "amount > 1"),
    ("prune", "{table}", "amount > 1"),
    ("scan", "{table}", "amount > 1"),
    ("bench", "{table}", "amount > 1", "--times", "1"),
    ("advise", "{table}", "--queries", "{queries}"),
    ("index", "list", "{table}"),
    ("index", "stats", "{table}"),
    ("index", "refresh", "{table}", "column_stats"),
    ("layout", "analyze", "{table}", "--predicate", "amount > 1"),
    ("virtual-keys", "report", "{table}"),
    ("hive", "register", "{table}", "--dry-run", "--hs2", "127.0.0.1:9"),
    ("hive", "doctor", "{table}", "--hs2", "127.0.0.1:9"),
)


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def wait_for(self, text):
        limit = time.monotonic() + _LIMIT
        while text not in self.getvalue():
            assert time.monotonic() < limit, f"no {text!r} in {self.getvalue()!r}"
            time.sleep(0.01)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal as standard error; progress is shown at once."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress_bar, "_PATIENCE", 0.0)
    return Terminal()


@pytest.mark.parametrize("words", _READING, ids=lambda words: " ".join(words[:2]))
def test_there_is_a_bar_while_a_table_is_read(
    words, golden, tmp_path, monkeypatch, terminal, capsys
):
    monkeypatch.setattr(sys, "stderr", terminal)
    queries = tmp_path / "queries.sql"
    queries.write_text("amount > 1")
    given = {"table": golden["cow_v9_txns_simple_meta"], "queries": queries}
    opened = HudiTable.open

    def open_slowly(*arguments, **named):
        terminal.wait_for("━")
        return opened(*arguments, **named)

    monkeypatch.setattr(HudiTable, "open", open_slowly)
    code = main([word.format(**given) for word in words])
    assert code == (1 if "doctor" in words else 0), terminal.getvalue()
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", ["register", "doctor"])
def test_there_is_a_bar_while_hiveserver2_is_queried(command, golden, monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    server = socket.create_server(("127.0.0.1", 0))

    def never_answer():
        try:
            terminal.wait_for("querying HiveServer2")
        finally:
            server.close()

    waiting = threading.Thread(target=never_answer)
    waiting.start()
    address = f"127.0.0.1:{server.getsockname()[1]}"
    table = str(golden["cow_v9_txns_simple_meta"])
    assert main(["hive", command, table, "--hs2", address, "--auth", "NOSASL"]) == 1
    waiting.join()
    assert "querying HiveServer2" in terminal.getvalue()


@pytest.mark.parametrize("to_terminal", [True, False])
def test_there_is_a_bar_while_rows_are_read(to_terminal, golden, monkeypatch, terminal, capsys):
    """The bar counts files if the rows are written to a file or a pipe."""
    answer = Terminal() if to_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", answer)
    monkeypatch.setattr(sys, "stderr", terminal)
    batches = PrunedRows.batches

    def slowly(rows):
        for batch in batches(rows):
            terminal.wait_for("reading rows")
            yield batch

    monkeypatch.setattr(PrunedRows, "batches", slowly)
    table = str(golden["cow_v9_txns_simple_meta"])
    assert main(["scan", table, "--columns", "txn_id"]) == 0
    assert answer.getvalue().count("TXN-") == 12
    assert "━" not in answer.getvalue()
    assert to_terminal or " of 5 files" in terminal.getvalue()
