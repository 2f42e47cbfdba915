"""Ordinary and degenerate plans and tables, drawn by chance, each of them a script that anybody can run.

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

import numpy as np
from numpy.random import Generator
from tests.laws.chance_channels import MAKERS, random_mechanism

import sfumato as sf
from sfumato.domain import Categories, Interval, domain_to_spec
from sfumato.microdata.judged.preserved import PatternWarning
from sfumato.mining.itemsets.apriori import SupportWarning

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
    learner: str = "sf.NaiveBayes()"
    design: str = "sf.SelectASize.design(sf.Items(5), sizes=[2], gamma=19)"

    @property
    def target(self) -> str | None:
        return next((name for name, each in self.columns.items() if each.attribute.get("role") == "class"), None)

    def lines(self, asked: Mapping[str, Any]) -> list[str]:
        """The script up to the point where a law is asked for: only what the law's arguments need."""
        attributes = {name: dict(each.attribute) for name, each in self.columns.items()}
        columns = [f"{name} = {each.values}" for name, each in self.columns.items()]
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
            *(line for name, line in needs.items() if name in asked or (name == "plan" and {"columns", "reports"} & {*asked})),
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
    """The lines of a law below its docstring."""
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
    """What comes of a law in a case; every warning breaks it, and so does more CPU time than ``most_seconds`` (0: any)."""
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
        said = f"{type(error).__name__}: {error}"
        return Outcome(kind, said, time.process_time() - began, f"{Path(last.filename).name}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return Outcome("held", "", time.process_time() - began)


def _too_long(*_: Any) -> None:
    raise TimeoutError("longer than the case's size allows")


def seconds_allowed(case: Case) -> float:
    """What a person would wait at most: a minute, and a second for every thousand answers."""
    return 60 + case.people * len(case.columns) / 1000


def is_one_clear_line(error: Exception) -> bool:
    """Whether the library itself refused the input: it raised, on purpose, one line that goes on after a stop.

    The house's errors say what is wrong, a semicolon or comma, and what to do (decision 3).
    """
    frame = traceback.extract_tb(error.__traceback__)[-1]
    own = frame.filename.startswith(LIBRARY)
    on_purpose = linecache.getline(frame.filename, frame.lineno or 0).strip().startswith("raise ")
    said = str(error)
    one_line = "\n" not in said and 10 < len(said) < 500 and (";" in said or "," in said)
    return own and on_purpose and one_line and type(error) in (ValueError, TypeError)


def smallest(law: Law, case: Case, found: Outcome, seconds: float = 20.0) -> Case:
    """The smallest case, found in so many seconds, that breaks the law in the same way."""
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


# --- drawing a case -------------------------------------------------------------------------------------------------


def random_case(rng: Generator, *, most_people: int = 20_000, most_columns: int = 30) -> Case:
    """A plan and a table: mostly a handful of ordinary columns and a class, now and then something odd."""
    people = int(rng.choice([5, 12, 40, 150, 600, 2_500, 8_000, 20_000], p=[0.1, 0.1, 0.15, 0.2, 0.2, 0.15, 0.07, 0.03]))
    count = int(rng.choice([1, 2, 3, 5, 9, 30], p=[0.15, 0.25, 0.3, 0.18, 0.1, 0.02]))
    columns = {f"x{place}": random_column(rng) for place in range(min(count, most_columns))}
    if rng.random() < 0.1 and len(columns) > 1:
        columns = disjoint(columns)
    if rng.random() < 0.85:
        columns["y"] = random_class(rng, columns)
    weights = str(rng.choice(["None", "r(99).integers(0, 4, n) * 1.0", "r(99).uniform(.1, 9, n)"], p=[0.75, 0.1, 0.15]))
    frame = str(rng.choice(["mapping", "pandas"] if any(is_mixed(each) for each in columns.values()) else list(FRAMES)))
    asked = [each for each in columns.values() if "role" not in each.attribute]
    head = {"questions_each": 1} if rng.random() < 0.07 and len(asked) > 1 else {}
    return Case(min(people, most_people), columns, frame, weights, head, random_learner(rng), random_design(rng))


def random_design(rng: Generator) -> str:
    """An operator for baskets of a few sizes, empty ones too."""
    sizes = sorted(rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist())
    gamma, items = float(rng.choice([3, 19, 60])), int(rng.choice([5, 8, 40]))
    return f"sf.SelectASize.design(sf.Items({items}), sizes={sizes}, gamma={gamma}, up_to=1, resolution=64)"


def is_mixed(column: Column) -> bool:
    """Whether a column's labels are of several kinds, which Polars and Arrow do not hold."""
    return ", object)" in column.values


def random_learner(rng: Generator) -> str:
    return LEARNERS[int(rng.integers(len(LEARNERS)))]


LEARNERS = [
    "sf.TreeClassifier()", "sf.Chooser()", "sf.NaiveBayes()", "sf.AdditiveClassifier()", "sf.MixtureClassifier()",
    "sf.JointModel()", "sf.MixtureModel()", "sf.LinearDiscriminant()", "sf.DirectClassifier()",
    *(f"sf.TreeClassifier(reconstruction={way!r})" for way in ("joint", "byclass", "local", "global", "none")),
    *(f"sf.NaiveBayes(density={way!r})" for way in ("moments", "reconstructed", "direct")),
]  # fmt: skip


def random_column(rng: Generator) -> Column:
    """A blurred column, or now and then a clear one, with or without gaps."""
    if rng.random() < 0.2:
        return random_clear_column(rng)
    mechanism = ordinary_mechanism(rng) if rng.random() < 0.6 else random_mechanism(rng, str(rng.choice(KINDS)))
    attribute = {**domain_to_spec(mechanism.domain), **mechanism.to_spec()}
    return Column(with_gaps(rng, mechanism.domain, values_of(rng, mechanism.domain)), attribute)


KINDS = [kind for kind in sorted(MAKERS) if kind not in ("correlated-gaussian", "select-a-size")]
"""Mechanisms of one column of a table."""


def ordinary_mechanism(rng: Generator) -> Any:
    """What surveys mostly ask: a whole number, an amount, or one of a few labels, with noise or randomized response."""
    privacy, gamma = float(rng.choice([0.25, 0.5, 1.0])), float(rng.choice([3, 19]))
    whole = sf.Interval(low := int(rng.choice([0, 1, 18, -5])), low + int(rng.choice([1, 5, 30, 80, 499])), integer=True)
    interval = sf.Interval(0, float(rng.choice([1, 10, 150_000]))) if rng.random() < 0.4 else whole
    few = sf.Categories(random_labels(rng, int(rng.choice([2, 3, 5, 12, 300], p=[0.3, 0.3, 0.2, 0.15, 0.05]))))
    kinds = [
        lambda: sf.Gaussian(interval, privacy=privacy), lambda: sf.Uniform(interval, privacy=privacy),
        lambda: sf.SquareWave(interval, gamma=gamma), lambda: sf.RandomizedResponse(few, gamma=gamma),
    ]  # fmt: skip
    return kinds[int(rng.choice(4, p=[0.35, 0.15, 0.15, 0.35]))]()


def random_clear_column(rng: Generator) -> Column:
    low, high = random_ends(rng)
    labels = random_labels(rng, int(rng.choice([1, 2, 3, 12, 60])))
    domain = sf.Interval(low, high) if rng.random() < 0.6 else sf.Categories(labels)
    return Column(with_gaps(rng, domain, values_of(rng, domain)), {**domain_to_spec(domain), "role": "clear"})


def random_ends(rng: Generator) -> tuple[float, float]:
    """The ends of an interval of some magnitude, negative or not."""
    size = float(10.0 ** rng.integers(-9, 13))
    low = float(rng.choice([0.0, -1.0, 0.25, 3.0])) * size
    return low, low + size


def random_labels(rng: Generator, size: int) -> list[Any]:
    """So many labels of one kind, now and then of several."""
    texts, numbers = [f"w{i}" for i in range(size)], [i - size // 2 for i in range(size)]
    kinds: list[list[Any]] = [texts, texts, list(range(size)), numbers, [i / 4 for i in range(size)]]
    kinds += [[f'ä {i}, "b"' for i in range(size)], [True, False] if size == 2 else texts]
    mixed: list[list[Any]] = [[f"{i}" if i % 2 else i for i in range(size)], [True, "yes"] if size == 2 else texts]
    chosen = mixed if rng.random() < 0.1 else kinds
    return chosen[int(rng.integers(len(chosen)))]


def values_of(rng: Generator, domain: Any) -> str:
    """An expression that draws values of a domain: even, peaked, or the same for everybody."""
    seed, shape = int(rng.integers(1000)), rng.choice(["even", "peaked", "constant"], p=[0.5, 0.42, 0.08])
    if isinstance(domain, Categories):
        codes = {
            "even": f"r({seed}).integers(0, {domain.size}, n)",
            "peaked": f"r({seed}).binomial({domain.size - 1}, .3, n)",
            "constant": "np.zeros(n, int)",
        }[shape]
        if isinstance(domain.labels, range):
            return codes
        kind = "" if len({type(label) for label in domain.labels}) == 1 else ", object"
        return f"np.array({list(domain.labels)!r}{kind})[{codes}]"
    assert isinstance(domain, Interval)
    low, width = domain.low, domain.high - domain.low
    if domain.integer:
        return {
            "even": f"r({seed}).integers({int(low)}, {int(domain.high) + 1}, n)",
            "peaked": f"{int(low)} + r({seed}).binomial({int(width)}, .3, n)",
            "constant": f"np.full(n, {int(domain.high)})",
        }[shape]
    return {
        "even": f"{low!r} + {width!r} * r({seed}).random(n)",
        "peaked": f"{low!r} + {width!r} * r({seed}).beta(2, 5, n)",
        "constant": f"np.full(n, {low + width / 3!r})",
    }[shape]


def with_gaps(rng: Generator, domain: Any, values: str) -> str:
    """The same values, some of them or all missing, in a quarter of the cases."""
    share = float(rng.choice([0, 0.1, 0.6, 1], p=[0.75, 0.12, 0.09, 0.04]))
    if not share:
        return values
    nothing = "np.nan" if isinstance(domain, Interval) else "None"
    return f"np.where(r({int(rng.integers(1000))}).random(n) < {share}, {nothing}, {values})"


def disjoint(columns: dict[str, Column]) -> dict[str, Column]:
    """Nobody has answered both of the first two questions."""
    names = list(columns)[:2]
    for name, sign in zip(names, ("<", ">="), strict=True):
        nothing = "np.nan" if "low" in columns[name].attribute else "None"
        values = f"np.where(np.arange(n) {sign} n // 2, {nothing}, {columns[name].values})"
        columns = {**columns, name: Column(values, columns[name].attribute)}
    return columns


def random_class(rng: Generator, columns: Mapping[str, Column]) -> Column:
    """A class that follows some of the columns, with noise; sometimes rare, sometimes blurred."""
    size = int(rng.choice([2, 3, 5, 12], p=[0.6, 0.2, 0.1, 0.1]))
    labels = random_labels(rng, size)
    numeric = [name for name, each in columns.items() if "low" in each.attribute]
    seed = int(rng.integers(1000))
    codes = f"r({seed}).integers(0, {size}, n)"
    if numeric:
        name = str(rng.choice(numeric))
        low, high = columns[name].attribute["low"], columns[name].attribute["high"]
        cut = low + (high - low) * float(rng.choice([0.3, 0.5]))
        codes = f"np.where(r({seed + 1}).random(n) < .1, {codes}, ({name} > {cut!r}) * {size - 1})"
    if rng.random() < 0.1:
        codes = f"np.where(np.arange(n) == n // 2, {size - 1}, {codes} % {size - 1})"
    kind = "" if len({type(label) for label in labels}) == 1 else ", object"
    attribute: dict[str, Any] = {"categories": labels, "role": "class"}
    if rng.random() < 0.15:
        attribute |= {"channel": "randomized-response", "gamma": float(rng.choice([3, 19]))}
    return Column(f"np.array({labels!r}{kind})[{codes}]", attribute)

