"""Checks of a page as a document: well-formed, self-contained, free of scripts."""

from html.parser import HTMLParser

_VOID = {"meta", "input"}
_KNOWN = frozenset(
    {
        *("html", "head", "meta", "title", "style", "body", "main", "section", "figure"),
        *("figcaption", "h1", "h2", "h3", "p", "a", "b", "em", "small", "code", "span", "div"),
        *("ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "details"),
        *("summary", "form", "label", "input", "select", "option", "button"),
        *("svg", "g", "rect", "line", "path", "polygon", "circle", "text"),
    }
)


class _WellFormed(HTMLParser):
    """Fails for an element that is unknown, not closed, or closed by another."""

    def __init__(self):
        super().__init__()
        self.open, self.classes, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self._seen(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._seen(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def _seen(self, tag, attrs):
        found = dict(attrs)
        assert tag in _KNOWN
        assert not [name for name in found if name.startswith("on")]
        self.classes += (found.get("class") or "").split()
        self.links += [found[name] for name in ("src", "href", "action") if name in found]


def parsed(content: str) -> _WellFormed:
    """The elements of a page that runs and loads nothing."""
    parser = _WellFormed()
    parser.feed(content)
    assert not parser.open
    assert "url(" not in content
    assert "@import" not in content
    assert "default-src 'none'" in content
    return parser
