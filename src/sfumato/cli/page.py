"""One HTML page that needs no network: style, charts and their JavaScript are inside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><header><div><h1>{title}</h1><p>{subtitle}</p></div></header>
<main>{body}</main>
{scripts}</body></html>
"""


class Page:
    """Sections in reading order; charts are drawn by the one copy of the chart library at the end of the page."""

    def __init__(self, title: str, subtitle: str) -> None:
        self.title, self.subtitle = title, subtitle
        self._parts: list[str] = []
        self._charts: list[dict[str, Any]] = []

    def add(self, html: str) -> None:
        self._parts.append(html)

    def section(self, title: str, lead: str, *parts: str) -> None:
        self.add(f'<section><h2>{escape(title)}</h2><p class="lead">{escape(lead)}</p>{"".join(parts)}</section>')

    def chart(self, drawing: Any) -> str:
        """The place of an altair chart."""
        self._charts.append(drawing.configure_view(stroke=None).configure_axis(labelColor="#6e645c").to_dict())
        return f'<div id="chart{len(self._charts) - 1}"></div>'

    def html(self) -> str:
        style = (files("sfumato.cli") / "page.css").read_text(encoding="utf-8")
        words = {"title": escape(self.title), "subtitle": escape(self.subtitle)}
        return PAGE.format(style=style, body="\n".join(self._parts), scripts=self._scripts(), **words)

    def _scripts(self) -> str:
        if not self._charts:
            return ""
        import vl_convert

        specs = json.dumps(self._charts, allow_nan=False).replace("</", "<\\/")
        draw = "specs.forEach((spec, i) => vegaEmbed('#chart' + i, spec, {actions: false, renderer: 'svg'}));"
        library = vl_convert.javascript_bundle(vl_version=_schema_version(self._charts[0]))  # type: ignore[call-arg]
        library = library.replace("</script", "<\\/script")
        return f"<script>{library}</script>\n<script>const specs = {specs};\n{draw}</script>\n"


def _schema_version(spec: dict[str, Any]) -> str:
    """Vega-Lite's version as vl-convert names it: "…/v6.1.0.json" is "v6.1"."""
    version = spec["$schema"].rsplit("/", 1)[1].removesuffix(".json")
    return ".".join(version.split(".")[:2])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table; the cells are HTML already."""
    top = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def card(title: str, how: str, picture: str, error: str) -> str:
    words = f'<h3>{escape(title)}</h3><p class="how">{escape(how)}</p>'
    return f'<div class="card">{words}{picture}<p class="error">{escape(error)}</p></div>'


def unfold(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{paragraphs(text)}</details>"


def quote(text: str) -> str:
    return f"<blockquote>{paragraphs(text)}</blockquote>"


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.splitlines() if part.strip())


def numbers(pairs: Iterable[tuple[str, str]]) -> str:
    boxes = "".join(f"<div><b>{escape(number)}</b><span>{escape(meaning)}</span></div>" for number, meaning in pairs)
    return f'<div class="numbers">{boxes}</div>'
