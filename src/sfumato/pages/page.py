"""One page that needs nothing else: sections in reading order, every text escaped, charts as SVG inside it."""

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
"""What a browser may do with a page: show it in this style. No script, no network, whatever a label holds."""
LIVE_POLICY = POLICY.replace("form-action 'none'", "form-action 'self'; script-src 'self'; connect-src 'self'")
"""The same for a page that its server keeps fresh: scripts and addresses of that server alone."""


@dataclass(frozen=True)
class Card:
    """A picture with its title, how it came about, and what to say of it."""

    title: str
    how: str = ""
    chart: Html | None = None
    note: str = ""
    more: Html | None = None
    """What is folded away below, as `folded` makes it."""


class Page:
    """A page as it grows; every method adds to the section opened last and returns the page.

    ``script``: the address of a script of the page's own server, for a page that is kept fresh.
    """

    def __init__(self, title: str, lead: str = "", language: str = "en", script: str | None = None) -> None:
        self.title, self.lead, self.language, self.script = title, lead, language, script
        self._sections: list[list[Html]] = [[]]
        self._titles: list[str] = []
        self._heading = title
        self._contents = False

    def section(self, title: str, lead: str = "") -> Page:
        """Begin a section."""
        self._sections.append([tag("h2", title)])
        self._titles.append(title)
        self._heading = title
        return self.add(tag("p", lead, class_="lead")) if lead else self

    def contents(self) -> Page:
        """Links to all sections, before the first of them."""
        self._contents = True
        return self

    def add(self, *parts: object) -> Page:
        """Anything: `Html` as it is, other things escaped."""
        self._sections[-1] += [safe(part) for part in parts]
        return self

    def paragraph(self, text: str, *, soft: bool = False) -> Page:
        """Prose, one paragraph a line."""
        return self.add(tag("div", paragraphs(text), class_="soft") if soft else paragraphs(text))

    def items(self, lines: Iterable[object]) -> Page:
        return self.add(bullets(lines))

    def note(self, text: str, *, good: bool | None = None) -> Page:
        """Words set apart; a verdict when they are ``good`` or not."""
        return self.add(tag("blockquote", paragraphs(text), class_={None: None, True: "good", False: "bad"}[good]))

    def unfold(self, title: str, content: str | Iterable[object]) -> Page:
        """A title behind which prose or a list is folded."""
        return self.add(folded(title, content))

    def facts(self, pairs: Iterable[tuple[object, object]]) -> Page:
        """Boxes of a number and what it means."""
        boxes = [tag("div", tag("b", number), tag("span", meaning)) for number, meaning in pairs]
        return self.add(tag("div", *boxes, class_="numbers"))

    def table(
        self, rows: Iterable[Mapping[str, object] | Sequence[object]], columns: Sequence[str] | None = None, *,
        wrap: bool = False,
    ) -> Page:
        """Rows as mappings or as cells in the order of ``columns``; the first cell of a row is its heading.

        With ``wrap`` long cells break their lines, for tables of words.
        """
        return self.add(table(rows, columns, wrap=wrap, description=self._heading))

    def bars(self, rows: Iterable[tuple[str, float | Sequence[float]]]) -> Page:
        """For each label one share or several, as bars from 0 to 1."""
        return self.add(whole_bars(rows))

    def deviations(self, rows: Iterable[tuple[str, float, float]]) -> Page:
        """For each label a value as a dot, and the band around zero that chance explains."""
        return self.add(deviations(list(rows)))

    def chart(self, drawing: Html) -> Page:
        """A chart, as `charts` draws it."""
        return self.add(tag("div", drawing, class_="picture"))

    def legend(self, kinds: Mapping[str, object]) -> Page:
        """What the colours of the style mean: {kind: meaning}."""
        return self.add(tag("p", *(swatch(*pair) for pair in kinds.items()), class_="legend"))

    def cards(self, cards: Iterable[Card]) -> Page:
        """Pictures side by side, as many as the width takes."""
        return self.add(tag("div", *(self._card(card) for card in cards), class_="grid"))

    def footer(self, *parts: object) -> Page:
        return self.add(tag("footer", *parts))

    def html(self) -> str:
        """The whole document."""
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
        """The content security policy, also to be sent as a header."""
        return POLICY if self.script is None else LIVE_POLICY

    @property
    def digest(self) -> str:
        """Another one when anything in the page is another."""
        return sha256("\0".join([self.title, self.lead, self._body]).encode()).hexdigest()[:32]

    @property
    def _body(self) -> str:
        opening, *others = self._sections
        places = [f"part-{place}" if self._contents else None for place in range(1, len(others) + 1)]
        sections = [tag("section", *parts, id=place) for place, parts in zip(places, others, strict=True)]
        links = [tag("a", title, href=f"#{place}") for place, title in zip(places, self._titles, strict=True) if place]
        ways = [tag("nav", *links, aria_label="Contents")] if links else []
        return "\n".join([*opening, *ways, *sections])

    def write(self, path: str | Path) -> None:
        """The document to a file, whole or not at all."""
        write_text(self.html(), path)

    def _card(self, card: Card) -> Html:
        picture = None if card.chart is None else tag("div", card.chart, class_="picture")
        how = tag("p", card.how, class_="how") if card.how else None
        note = tag("p", card.note, class_="error") if card.note else None
        return tag("div", tag("h3", card.title), how, picture, note, card.more, class_="card")


def folded(title: str, content: str | Iterable[object]) -> Html:
    """A title behind which `Html`, prose or a list is folded; nothing where there is nothing."""
    if isinstance(content, Html):
        inside = content
    else:
        inside = paragraphs(content) if isinstance(content, str) else bullets(content)
    return tag("details", tag("summary", title), inside) if inside else Html()


def table(
    rows: Iterable[Mapping[str, object] | Sequence[object]], columns: Sequence[str] | None = None, *,
    wrap: bool = False, description: str = "",
) -> Html:
    """A table that scrolls where the screen is narrow; see `Page.table`."""
    given = [row if isinstance(row, Mapping) else list(row) for row in rows]
    first = given[0] if given else {}
    names = list(columns) if columns is not None else list(first if isinstance(first, Mapping) else ())
    top = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names))) if names else Html()
    body = [_row([row.get(name) for name in names] if isinstance(row, Mapping) else row) for row in given]
    whole = tag("table", top, tag("tbody", *body), class_="words" if wrap else None)
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=description)


def _row(cells: Sequence[object]) -> Html:
    first, *rest = cells
    return tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest))
