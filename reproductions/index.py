"""One table of all statements of all papers, read from their pages: ``python -m reproductions.index docs/papers``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproductions import CAUSE, STATEMENT_COLUMNS, markdown_table

PAGE = "statements.md"
CELL = re.compile(r"(?<!\\)\|")
VERDICTS = ("kept", "not kept", "not measured at this size")
LONGEST = 160
"""A figure in the table is the first part of what was measured, of so many characters at most."""
HEAD = """# The papers again

Every statement of the papers behind this system, with what was found here. The pages and this table are written by
`make papers` ([how](../how-to/reproduce-the-papers.md)); nothing in them is written by hand. A statement that was not
kept has the cause that was measured. Each page has every figure, whose reading the threshold is, and where each
paragraph of the paper stands here.
"""
CONTENTS = """```{toctree}
:maxdepth: 1
:glob:

*/statements
```
"""


@dataclass(frozen=True)
class Statement:
    """A row of a paper's page."""

    paper: str
    number: str
    text: str
    where: str
    verdict: str
    measured: str
    threshold: str

    @property
    def figure(self) -> str:
        """The first part of what was measured."""
        told = self.measured.partition(CAUSE)[0].partition("; ")[0]
        return told if len(told) <= LONGEST else told[: LONGEST - 2].rsplit(" ", 1)[0] + " …"

    @property
    def cause(self) -> str:
        return self.measured.partition(CAUSE)[2]

    def row(self) -> tuple[str, ...]:
        link = f"[{self.paper} {self.number}]({self.paper.lower()}/{PAGE})"
        cause = f"{'' if self.figure.endswith('…') else '.'} **Cause**: {self.cause}" if self.cause else ""
        return link, self.text, self.verdict, self.figure + cause


def statements(page: str) -> list[Statement]:
    """The statements of a paper's page."""
    paper = page.split()[1]
    table = page.partition(f"| {' | '.join(STATEMENT_COLUMNS)} |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip().replace(r"\|", "|") for cell in CELL.split(line)[1:-1]] for line in table.splitlines()[1:]]
    return [Statement(paper, no, text, where, verdict.strip("*"), *rest) for no, text, where, verdict, *rest in rows]


def index_of(pages: Sequence[str]) -> str:
    """How many of each paper were kept, and every statement."""
    found = {page.split()[1]: statements(page) for page in pages}
    counts = [_counted(name, each, page) for (name, each), page in zip(found.items(), pages, strict=True)]
    every = [one.row() for each in found.values() for one in each]
    return "\n".join([
        HEAD,
        markdown_table(("paper", "statements", *VERDICTS, "scale"), counts), "",
        "## Every statement", "",
        markdown_table(("no.", "the paper says", "here", "figure"), every), "",
        CONTENTS,
    ])  # fmt: skip


def _counted(name: str, each: list[Statement], page: str) -> tuple[object, ...]:
    verdicts = Counter(one.verdict for one in each)
    scale = page.partition(" Scale ")[2].partition(":")[0]
    return f"[{name}]({name.lower()}/{PAGE})", len(each), *(verdicts[word] for word in VERDICTS), scale


def write_index(folder: Path) -> None:
    """`index.md` of a folder with a page a paper."""
    pages = [path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*/{PAGE}"))]
    (folder / "index.md").write_text(index_of(pages), encoding="utf-8")


if __name__ == "__main__":
    write_index(Path(sys.argv[1]))
