"""The papers' experiments again, one folder a paper; here what they share: a claim, its verdict, and one page a paper.

A paper's module has ``reproduce(folder, scale="full", say=…)`` and returns its claims. `write_paper` gives all four
the same headings, as `index.html` and, for the documentation, as `statements.md`; `index` makes one table of them all.
"""

from __future__ import annotations

import csv
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from sfumato.pages import Html, Page, table, tag

Rows = list[dict[str, Any]]
Say = Callable[[str], None]
Scale = Literal["quick", "middle", "full"]
SCALES: tuple[Scale, ...] = get_args(Scale)
SCALES_IN_WORDS = {
    "quick": "quick: it shows that everything runs, no more",
    "middle": "middle: at most fifteen minutes on two cores",
    "full": "full: the paper's own",
}
T = TypeVar("T")

THEIRS = "the paper's"
STATEMENT_COLUMNS = ("no.", "the paper says", "where", "here", "measured", "threshold")
PLACE_COLUMNS = ("where", "what", "here")
CAUSE = "; cause: "
FEW_ROWS = 60
"""Longer tables stay in their CSV files and in `index.html`."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper in our words, whether it was kept (None: not measured), and the numbers that say so.

    ``where``: its place in the text. ``threshold``: whose reading decides; the paper's, or ours in words. ``cause``:
    why it would not be kept, with the figures that show it.
    """

    text: str
    kept: bool | None
    evidence: str
    where: str = ""
    threshold: str = THEIRS
    cause: str = ""

    @property
    def measured(self) -> str:
        """The numbers, and the cause where it was not kept."""
        return self.evidence + (CAUSE + self.cause if self.cause and self.kept is False else "")

    @property
    def verdict(self) -> str:
        return "not measured at this size" if self.kept is None else "kept" if self.kept else "not kept"

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{self.verdict}: {place}{self.text} ({self.measured})"


def placed(where: str, claims: Iterable[Claim]) -> list[Claim]:
    """The claims, at that place of the text unless they name their own."""
    return [one if one.where else replace(one, where=where) for one in claims]


def at(scale: Scale, quick: T, middle: T, full: T) -> T:
    """The one of the three that belongs to the scale."""
    if scale not in SCALES:
        raise ValueError(f"scale {scale!r} is unknown; choose one of {', '.join(SCALES)}")
    return {"quick": quick, "middle": middle, "full": full}[scale]


# --- one page a paper -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paper:
    """What a page says of a paper, beside its claims."""

    name: str
    title: str
    setting: str
    """What was run, in a sentence or two."""
    differences: Sequence[str] = ()
    """Where our reading differs from the text."""
    places: Sequence[tuple[str, str, str]] = ()
    """What stands where in the text beside its statements, and where that is here, or why not."""
    tables: Mapping[str, Rows] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    """{file in the folder: caption}."""


def write_paper(folder: Path, paper: Paper, claims: Sequence[Claim], scale: Scale) -> None:
    """`index.html`, `statements.md` and a CSV file for each table."""
    for name, rows in paper.tables.items():
        write_rows(folder / f"{name}.csv", rows)
    _page(folder, paper, claims, scale).write(folder / "index.html")
    (folder / "statements.md").write_text(_markdown(paper, claims, scale), encoding="utf-8")


def counted(claims: Iterable[Claim]) -> str:
    """How many were kept, and so on."""
    verdicts = [one.verdict for one in claims]
    return ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(sorted(verdicts)))


def _page(folder: Path, paper: Paper, claims: Sequence[Claim], scale: Scale) -> Page:
    page = Page(f"{paper.name} again", paper.title)
    page.paragraph(f"{paper.setting}\nScale {SCALES_IN_WORDS[scale]}.")
    page.section("Statements", counted(claims)).table(_statement_rows(claims), STATEMENT_COLUMNS, wrap=True)
    page.section("Where this differs from the paper").items(_plain(paper.differences))
    places = [tuple(_plain(row)) for row in paper.places]
    page.section("Paragraph by paragraph").table(places, PLACE_COLUMNS, wrap=True)
    page.section("Figures")
    for name, caption in paper.pictures.items():
        page.add(tag("h3", caption))
        picture = folder / name
        if picture.suffix == ".svg":
            page.chart(Html(picture.read_text(encoding="utf-8")))
        else:
            page.add(_image(picture, caption))
    page.section("Tables")
    for name, rows in paper.tables.items():
        page.add(tag("h3", _words(name)), table(rows, description=_words(name)))
    return page


def _image(path: Path, caption: str) -> Html:
    data = b64encode(path.read_bytes()).decode()
    return tag("div", tag("img", src=f"data:image/png;base64,{data}", alt=caption), class_="picture")


def _markdown(paper: Paper, claims: Sequence[Claim], scale: Scale) -> str:
    parts = [f"# {paper.name} again", paper.title, f"{paper.setting} Scale {SCALES_IN_WORDS[scale]}."]
    parts += ["## Statements", f"{counted(claims)}.", as_markdown(claims)]
    parts += ["## Where this differs from the paper", "\n".join(f"- {one}" for one in paper.differences)]
    parts += ["## Paragraph by paragraph", markdown_table(PLACE_COLUMNS, paper.places)]
    parts += ["## Figures", *(f"{caption}\n\n![{caption}]({name})" for name, caption in paper.pictures.items())]
    parts.append("## Tables")
    for name, rows in paper.tables.items():
        if 0 < len(rows) <= FEW_ROWS:
            columns = list(rows[0])
            body = [tuple(_cell(row.get(column)) for column in columns) for row in rows]
            parts += [f"### {_words(name)}", markdown_table(columns, body)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _statement_rows(claims: Iterable[Claim]) -> list[tuple[str, ...]]:
    each = enumerate(claims, 1)
    return [(str(no), one.text, one.where, one.verdict, one.measured, one.threshold) for no, one in each]


def as_markdown(claims: Iterable[Claim]) -> str:
    """A table with one row a claim."""
    rows = [(*row[:3], f"**{row[3]}**", *row[4:]) for row in _statement_rows(claims)]
    return markdown_table(STATEMENT_COLUMNS, rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    escaped = [[str(cell).replace("|", r"\|") for cell in row] for row in (head, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _plain(texts: Iterable[str]) -> list[str]:
    """Without Markdown's marks of code."""
    return [text.replace("`", "") for text in texts]


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


# --- files ------------------------------------------------------------------------------------------------------------


def write_rows(path: Path, rows: Rows) -> Rows:
    """The rows as CSV, with the columns of all of them, and back."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def opened(folder: Path | str) -> Path:
    """The folder, made if need be."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    return place
