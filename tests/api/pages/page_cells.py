"""The tables of a page."""

from html.parser import HTMLParser


class _Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] = (self.rows[-1][-1] + data).strip()


def rows(page: str) -> list[list[str]]:
    """The texts of the cells of each row, for all tables in order."""
    parser = _Cells()
    parser.feed(page)
    return parser.rows
