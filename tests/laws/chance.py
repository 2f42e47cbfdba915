"""Run a plan and a table through a law, say what came of it, and print the failure as a script that anybody can run.

A case is made of expressions: every column says in Python how its true values are drawn. So a case can be run, made
smaller while it still fails, and printed as the script that shows the failure, all from the same text.
"""

from __future__ import annotations

import inspect
import linecache
import signal
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import sfumato as sf
from sfumato.itemsets.apriori import SupportWarning
from sfumato.microdata.kept.preserved import PatternWarning

Law = Callable[..., None]
LIBRARY = str(Path(sf.__file__).parent)
FRAMES = {
    "mapping": "dict(truth)",
    "pandas": "pandas.DataFrame(truth)",
    "polars": "polars.DataFrame(truth)",
    "pyarrow": "pyarrow.table(truth)",
}


@dataclass(frozen=True)
class Column:
    """A column of a table: the expression that draws its true values, and its attribute in the plan."""

    values: str
    attribute: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A plan and a table of true answers, as the text of the script that makes them."""

    people: int
    columns: dict[str, Column]
    frame: str = "mapping"
    weights: str = "None"
    head: dict[str, Any] = field(default_factory=dict)
    learner: str = "sf.NaiveBayesClassifier()"
    design: str = "sf.SelectASize.design(sf.Items(5), sizes=[2], gamma=19)"

    @property
    def target(self) -> str | None:
        return next((name for name, each in self.columns.items() if each.attribute.get("role") == "class"), None)

    def lines(self, asked: Mapping[str, Any]) -> list[str]:
        """The script up to the point where a law is asked for: only what the law's arguments need."""
        attributes = {name: dict(each.attribute) for name, each in self.columns.items()}
        columns = [f"{name} = {each.values}" for name, each in self.columns.items()]
        wanted = {*asked, "plan"} if {"columns", "reports"} & {*asked} else {*asked}
        needs = {
            "table": f"table = {FRAMES[self.frame]}",
            "plan": f"plan = sf.Plan.from_dict({ {'name': 'chance', **self.head, 'attributes': attributes}!r})",
            "columns": "columns = plan.randomize(truth, rng=1)",
            "reports": f"reports = plan.randomize({FRAMES[self.frame]}, rng=1)",
            "target": f"target = {self.target!r}",
            "weights": f"weights = {self.weights}",
            "learner": f"learner = lambda: {self.learner}",
            "design": f"design = {self.design}",
        }
        return [
            "import json, numpy as np, pandas, polars, pyarrow, sfumato as sf",
            f"n, r = {self.people}, np.random.default_rng",
            *(columns if len(columns) < 3 else ["; ".join(columns)]),
            "truth = {" + ", ".join(f"{name!r}: {name}" for name in self.columns) + "}",
            *(line for name, line in needs.items() if name in wanted),
        ]

    def script(self, law: Law) -> str:
        """Everything, and the law's own lines: what a maintainer runs to see the failure."""
        return "\n".join([*self.lines(inspect.signature(law).parameters), *body_of(law)])

    def ground(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the script's names hold when a law is asked for."""
        names: dict[str, Any] = {}
        exec("\n".join(self.lines(asked)), names)
        return {name: names[name] for name in asked}

    def smaller(self) -> Iterator[Case]:
        """Cases that show less: fewer columns, fewer people, a plainer table."""
        for name in self.columns:
            if len(self.columns) > 1:
                yield replace(self, columns={other: each for other, each in self.columns.items() if other != name})
        for fewer in (self.people // 8, self.people // 2):
            if fewer >= 1:
                yield replace(self, people=fewer)
        for plainer in ({"frame": "mapping"}, {"weights": "None"}, {"head": {}}):
            if any(getattr(self, name) != value for name, value in plainer.items()):
                yield replace(self, **plainer)


def body_of(law: Law) -> list[str]:
    """Return the lines of a law below its docstring."""
    lines = textwrap.dedent(inspect.getsource(law)).splitlines()
    body = lines[next(place for place, line in enumerate(lines) if line.endswith("None:")) + 1 :]
    start = 1 if body[0].strip().startswith('"""') else 0
    return textwrap.dedent("\n".join(body[start:])).splitlines()


# --- what came of it ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """A law held, was refused in one clear line, or broke."""

    kind: Literal["held", "refused", "broken"]
    said: str = ""
    seconds: float = 0.0
    where: str = ""


def outcome_of(law: Law, case: Case, most_seconds: float = 0.0) -> Outcome:
    """Ask a law of a case: whether it held, was refused, or broke.

    Every warning breaks it, and so does more CPU time than ``most_seconds`` (0: it may take any).
    """
    began = time.process_time()
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, most_seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("default", category=ResourceWarning)
            for said in (PatternWarning, SupportWarning):  # what a person is to be told, and the law does not ask
                warnings.filterwarnings("ignore", category=said)
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # of the machine, not of ours
            law(**case.ground(inspect.signature(law).parameters))
    except Exception as error:
        kind: Literal["refused", "broken"] = "refused" if is_one_clear_line(error) else "broken"
        last = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error}"
        return Outcome(kind, words, time.process_time() - began, f"{Path(last.filename).name}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return Outcome("held", "", time.process_time() - began)


def _too_long(*_: Any) -> None:
    raise TimeoutError("longer than the case's size allows")


def seconds_allowed(case: Case, fits: int = 1) -> float:
    """Return the seconds that a person would wait at most: a minute, and one more for every thousand answers.

    A person waits for one model; a law that fits several, one after the other, may take as much for each.
    """
    return fits * (60 + case.people * len(case.columns) / 1000)


def is_one_clear_line(error: Exception) -> bool:
    """Say whether the library refused the input on purpose, in one line: what is wrong, and what to do (decision 3)."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    own = frame.filename.startswith(LIBRARY)
    on_purpose = linecache.getline(frame.filename, frame.lineno or 0).strip().startswith("raise ")
    said = str(error)
    one_line = "\n" not in said and 10 < len(said) < 500 and (";" in said or "," in said)
    return own and on_purpose and one_line and type(error) in (ValueError, TypeError)


def smallest(law: Law, case: Case, found: Outcome, seconds: float = 20.0) -> Case:
    """Return the smallest case, of those tried in so many seconds, that breaks the law in the same way."""
    until, going = time.process_time() + seconds, True
    while going:
        going = False
        for less in case.smaller():
            if time.process_time() + found.seconds > until:
                return case
            again = outcome_of(law, less)
            if (again.kind, again.where) == (found.kind, found.where):
                case, going = less, True
                break
    return case
