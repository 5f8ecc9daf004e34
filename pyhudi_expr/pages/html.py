"""HTML and SVG as text: elements, tables and the frame of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --faint: #5b6670; --paper: #fff; --line: #d5dbe0;
  --kept: #c2410c; --dropped: #2563a8; --bar: #2563a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ed; --faint: #9aa7b2; --paper: #14181c;
  --line: #37414a; --kept: #fb923c; --dropped: #60a5fa; --bar: #60a5fa; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .5rem 0; } caption { text-align: left; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); } td.n, th.n { text-align: right; }
.scroll { overflow-x: auto; } a { color: var(--dropped); } .faint { color: var(--faint); }
details { margin: .3rem 0 .3rem 1.2rem; } summary { cursor: pointer; }
summary:focus-visible, a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--kept); }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui; }
svg .frame { fill: none; stroke: var(--line); }
svg .kept { fill: var(--kept); fill-opacity: .18; stroke: var(--kept); }
svg .dropped { fill: var(--dropped); fill-opacity: .05; stroke: var(--dropped);
  stroke-opacity: .6; }
svg .bar { fill: var(--bar); } svg .write { fill: var(--dropped); }
svg .other { fill: var(--faint); }
svg .pending { fill: none; stroke: var(--kept); stroke-width: 2; }
.key { display: inline-block; width: .8em; height: .8em; border: 1px solid; margin: 0 .3em 0 1em; }
.key.kept { border-color: var(--kept); } .key.dropped { border-color: var(--dropped); }
"""


def text(value: object) -> str:
    """A text, escaped."""
    return escape(str(value))


def page(title: str, parts: Iterable[str]) -> str:
    """A whole document. parts: HTML, already escaped."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{text(title)}</h1>\n{body}\n</main></body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A heading and what belongs to it; parts are HTML."""
    return f"<section><h2>{text(title)}</h2>\n" + "\n".join(parts) + "</section>"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers stand at the right."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return _framed(header, body)


def raw_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return _framed(header, body)


def link(target: str, shown: str) -> str:
    """A link within the pages."""
    return f'<a href="{text(target)}">{text(shown)}</a>'


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Names and values, a row each."""
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in pairs
    )
    return f'<div class="scroll"><table>{rows}</table></div>'


def megabytes(size: int) -> str:
    """Bytes as MB."""
    return f"{size / 1e6:,.1f} MB"


def _framed(header: Sequence[str], body: str) -> str:
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    kind = ' class="n"' if isinstance(value, int | float) else ""
    shown = f"{value:,}" if isinstance(value, int) else text(value)
    return f"<td{kind}>{shown}</td>"
