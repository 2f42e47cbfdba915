"""Build a page of HTML that loads nothing else: sections in reading order, every text escaped, charts inside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

from sfumato.pages.charts import deviations, swatch, whole_bars
from sfumato.pages.html import Html, bullets, paragraphs, safe, tag
from sfumato.tables import write_text

# The whole document, with what ``Page.html`` fills in.
WHOLE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><link rel="icon" href="data:,">
<style>{style}</style><meta http-equiv="Content-Security-Policy" content="{policy}">{script}</head>
<body><header><div><h1>{title}</h1>{lead}</div></header>{news}
<main{digest}>{body}</main></body></html>
"""

STYLE = (files("sfumato.pages") / "page.css").read_text(encoding="utf-8")
STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'"
"""The content security policy of a page: a browser shows it in this style, with no script and no network, whatever a
label holds."""
LIVE_POLICY = POLICY.replace("form-action 'none'", "form-action 'self'; script-src 'self'; connect-src 'self'")
"""The content security policy of a page that its server keeps fresh: scripts and addresses of that server alone."""


@dataclass(frozen=True)
class Card:
    """A chart with its title and its words, as one box of a page."""

    title: str
    how: str = ""  # how the figures came about
    chart: Html | None = None
    note: str = ""  # a warning below the chart
    more: Html | None = None  # what can be unfolded below, as `folded` makes it


class Page:
    """An HTML page that is built part by part: what a method adds goes to the section begun last; it returns the page.

    ``title``: of the page; ``lead``: a sentence below it; ``language``: of its words. ``script``: the address of a
    script of the page's own server, for a page that is kept fresh.
    """

    def __init__(self, title: str, lead: str = "", language: str = "en", script: str | None = None) -> None:
        self.title, self.lead, self.language, self.script = title, lead, language, script
        self._sections: list[list[Html]] = [[]]
        self._titles: list[str] = []
        self._heading = title
        self._contents = False

    def section(self, title: str, lead: str = "") -> Page:
        """Begin a section with a title, to which all that follows is added; ``lead``: a sentence below the title."""
        self._sections.append([tag("h2", title)])
        self._titles.append(title)
        self._heading = title
        return self.add(tag("p", lead, class_="lead")) if lead else self

    def contents(self) -> Page:
        """Put links to all sections of the page before the first of them (a table of contents)."""
        self._contents = True
        return self

    def add(self, *parts: object) -> Page:
        """Add parts to the section: `Html` as it is, anything else as escaped text."""
        self._sections[-1] += [safe(part) for part in parts]
        return self

    def paragraph(self, text: str, *, soft: bool = False) -> Page:
        """Add prose, one paragraph for each line of ``text``; ``soft``: True: in a paler colour."""
        return self.add(tag("div", paragraphs(text), class_="soft") if soft else paragraphs(text))

    def items(self, lines: Iterable[object]) -> Page:
        """Add a list with bullets, one for each of ``lines``."""
        return self.add(bullets(lines))

    def note(self, text: str, *, good: bool | None = None) -> Page:
        """Add prose in a frame.

        ``good``: True: in the colour of a good verdict; False: of a bad one; None: it is no verdict.
        """
        return self.add(tag("blockquote", paragraphs(text), class_={None: None, True: "good", False: "bad"}[good]))

    def unfold(self, title: str, content: str | Iterable[object]) -> Page:
        """Add a title that shows its content when it is clicked; ``content``: prose, or the lines of a list."""
        return self.add(folded(title, content))

    def facts(self, pairs: Iterable[tuple[object, object]]) -> Page:
        """Add a row of boxes, one for each pair of a number and what it means."""
        boxes = [tag("div", tag("b", number), tag("span", meaning)) for number, meaning in pairs]
        return self.add(tag("div", *boxes, class_="numbers"))

    def table(
        self, rows: Iterable[Mapping[str, object] | Sequence[object]], columns: Sequence[str] | None = None, *,
        wrap: bool = False,
    ) -> Page:
        """Add an HTML table to the section; the first cell of a row is its heading.

        ``rows``: mappings, or cells in the order of ``columns``. ``columns``: the headings; None: the keys of the first
        row. ``wrap``: True: long cells break their lines, for tables of words.
        """
        return self.add(table(rows, columns, wrap=wrap, description=self._heading))

    def bars(self, rows: Iterable[tuple[str, float | Sequence[float]]]) -> Page:
        """Add for each label one share or several, as horizontal bars from 0 to 1."""
        return self.add(whole_bars(rows))

    def deviations(self, rows: Iterable[tuple[str, float, float]]) -> Page:
        """Add for each (label, value, allowed) a dot at the value and the band of ±allowed that chance explains."""
        return self.add(deviations(list(rows)))

    def chart(self, drawing: Html) -> Page:
        """Add a chart: HTML or SVG that a function of the module `charts` has drawn."""
        return self.add(tag("div", drawing, class_="picture"))

    def legend(self, kinds: Mapping[str, object]) -> Page:
        """Add a legend of a chart's colours; ``kinds``: class of the style sheet → what its colour means."""
        return self.add(tag("p", *(swatch(*pair) for pair in kinds.items()), class_="legend"))

    def cards(self, cards: Iterable[Card]) -> Page:
        """Add charts with their titles and words as boxes side by side, as many in a line as the page's width takes."""
        return self.add(tag("div", *(self._card(card) for card in cards), class_="grid"))

    def footer(self, *parts: object) -> Page:
        """Add a footer with these parts, such as text or `Html`."""
        return self.add(tag("footer", *parts))

    def html(self) -> str:
        """Return the whole document as HTML text."""
        head = {"title": safe(self.title), "language": safe(self.language), "policy": escape(self.policy)}
        lead = tag("p", self.lead) if self.lead else ""
        live = {"script": "", "news": "", "digest": ""}
        if self.script is not None:
            live["script"] = tag("script", src=self.script, type="module")
            live["news"] = tag("p", id="news", role="status")
            live["digest"] = f' data-digest="{self.digest}"'
        return WHOLE.format(**head, **live, style=STYLE, lead=lead, body=self._body)

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of the page as text: what a browser may load for it.

        Its server sends it as a header too.
        """
        return POLICY if self.script is None else LIVE_POLICY

    @property
    def digest(self) -> str:
        """A hash of all that the page shows, so that a page that is kept fresh notices when it has changed."""
        return sha256("\0".join([self.title, self.lead, self._body]).encode()).hexdigest()[:32]

    @property
    def _body(self) -> str:
        """The page's contents as HTML text, without its head: all sections, with links to them first where wanted."""
        opening, *others = self._sections
        ids = [f"part-{number}" if self._contents else None for number in range(1, len(others) + 1)]
        sections = [tag("section", *parts, id=id_) for id_, parts in zip(ids, others, strict=True)]
        links = [tag("a", title, href=f"#{id_}") for id_, title in zip(ids, self._titles, strict=True) if id_]
        contents = [tag("nav", *links, aria_label="Contents")] if links else []
        return "\n".join([*opening, *contents, *sections])

    def write(self, path: str | Path) -> None:
        """Write the whole document to a file; a reader sees the old file or the new one, never a part."""
        write_text(self.html(), path)

    def _card(self, card: Card) -> Html:
        """Return a chart with its title and words as the HTML of one box."""
        picture = None if card.chart is None else tag("div", card.chart, class_="picture")
        how = tag("p", card.how, class_="how") if card.how else None
        note = tag("p", card.note, class_="error") if card.note else None
        return tag("div", tag("h3", card.title), how, picture, note, card.more, class_="card")


def folded(title: str, content: str | Iterable[object]) -> Html:
    """Return HTML of a title that shows its content when it is clicked; empty HTML where there is no content.

    ``content``: `Html`, prose, or the lines of a list.
    """
    if isinstance(content, Html):
        inside = content
    else:
        inside = paragraphs(content) if isinstance(content, str) else bullets(content)
    return tag("details", tag("summary", title), inside) if inside else Html()


def table(
    rows: Iterable[Mapping[str, object] | Sequence[object]], columns: Sequence[str] | None = None, *,
    wrap: bool = False, description: str = "",
) -> Html:
    """Return a table as HTML, in a frame that scrolls on narrow screens; the first cell of a row is its heading.

    ``rows``: mappings, or cells in the order of ``columns``. ``columns``: the headings; None: the keys of the first
    row. ``wrap``: True: long cells break their lines.

    ``description``: the table's name for those who cannot see it.
    """
    given = [row if isinstance(row, Mapping) else list(row) for row in rows]
    first = given[0] if given else {}
    names = list(columns) if columns is not None else list(first if isinstance(first, Mapping) else ())
    top = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names))) if names else Html()
    body = [_row([row.get(name) for name in names] if isinstance(row, Mapping) else row) for row in given]
    whole = tag("table", top, tag("tbody", *body), class_="words" if wrap else None)
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=description)


def _row(cells: Sequence[object]) -> Html:
    """Return the HTML of one row of a table; its first cell is marked as the row's heading."""
    heading, *others = cells
    return tag("tr", tag("th", heading, scope="row"), *(tag("td", cell) for cell in others))
