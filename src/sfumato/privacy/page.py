"""A statement as one HTML page: no script, no network, readable on paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body{font:17px/1.55 Georgia,serif;color:#2b2622;background:#faf7f2;max-width:52em;margin:2em auto;padding:0 1.2em}
h1{font-weight:normal;font-size:1.9em;margin-bottom:.2em}h2{font-size:1.15em;margin:1.8em 0 .4em}
.verdict{padding:.7em 1em;border-left:5px solid #5d7d5a;background:#eef3ea}.failed{border-color:#a33;background:#f8e9e6}
table{border-collapse:collapse;font-size:.85em;display:block;overflow-x:auto}
td,th{border-bottom:1px solid #ddd3c6;padding:.3em .7em;text-align:left;vertical-align:top}
@media print{body{background:#fff;margin:0}}
"""


def page(title: str, verdict: str, passed: bool, parts: Iterable[str]) -> str:
    """The whole document."""
    mark = "verdict" if passed else "verdict failed"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style>'
    body = f'<h1>{escape(title)}</h1><p class="{mark}">{escape(verdict)}</p>{"".join(parts)}'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>" if content else ""


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())


def bullets(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>" if body else ""
