"""The stated risk of releases against attacks: on tables that nothing was chosen by, nobody finds more than is stated.

python bench/release_risk.py                 the held-out tables, three releases each; takes minutes
python bench/release_risk.py chosen          the tables that choices were made by
python bench/release_risk.py pbc chile       some

For each release the report states a risk. Then every intruder tries again with fresh randomness, and 200 random subsets
of columns are matched by a search written here a second time, by standard deviations and by ranks. "guess" is what
somebody who knows a person's leaf finds by guessing: leaves / n. A line fails where an attack finds more than stated.
"""

import io
import sys
import tarfile
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn import datasets

import sfumato as sf
from sfumato.examples.datasets import carried_file, keel_rows
from sfumato.microdata.intruders import send_intruders
from sfumato.microdata.noise import Draws

Table = tuple[pd.DataFrame, str]
RELEASES, SUBSETS, PEOPLE = 3, 200, 500


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


def matched(known: np.ndarray, seen: np.ndarray, label: np.ndarray, places: np.ndarray, people: np.ndarray) -> float:
    """The share of these people whose own record is the nearest on these columns, ties shared."""
    distance = np.zeros((people.size, len(seen)))
    for place in places:
        apart = known[people, place, None] - seen[:, place]
        distance += apart != 0 if label[place] else apart**2
    own = distance[np.arange(people.size), people][:, None]
    return float(np.mean((own[:, 0] <= distance.min(axis=1) + 1e-12) / (distance <= own + 1e-12).sum(axis=1)))


def best_random_subset(done: sf.microdata.Release, rng: np.random.Generator) -> float:
    """The most that a nearest match finds on random subsets: numbers by their deviation, then by their ranks."""
    label = np.append(~done.original.numeric, True)
    known, seen = (np.column_stack([data.X, data.y]) for data in (done.original, done.released))
    scale = np.nan_to_num(np.nanstd(known, axis=0)) + 1e-300
    middle = np.where(label, -1, np.nanmean(known, axis=0))
    known, seen = (np.where(np.isnan(values), middle, values) for values in (known, seen))
    ranked = [pd.DataFrame(values).rank(pct=True).to_numpy() for values in (known, seen)]
    people = rng.permutation(len(known))[: PEOPLE if len(known) < 5_000 else 50]
    found = 0.0
    for one in range(SUBSETS):
        places = np.flatnonzero(rng.random(label.size) < rng.random())
        if not places.size:
            continue
        if one % 2:
            values = [np.where(label, plain, ranks) for plain, ranks in zip((known, seen), ranked, strict=True)]
        else:
            values = [np.where(label, plain, plain / scale) for plain in (known, seen)]
        found = max(found, matched(*values, label, places, people))
    return found


def measure(name: str, read: Callable[[], Table]) -> bool:
    frame, target = read()
    held = True
    for seed in range(RELEASES):
        done = sf.release(frame, target, rng=np.random.default_rng([seed, 17]))
        risk = done.report.risk
        again = send_intruders(done, Draws(np.random.default_rng([seed, 18])))
        gained = [(one.found - (one.by_guessing if one.aim == "guess" else 0), one.name) for one in again]
        worst, who = max(gained)
        subset = best_random_subset(done, np.random.default_rng([seed, 19]))
        guess = float(done.leaves.nodes.is_leaf.sum() / len(done.original.y))
        linked = max(one.found for one in risk.findings if one.name in ("nearest match", "weighed match"))
        leafwise = max(one.found for one in risk.findings if one.aim == "find")
        fine = risk.stated >= max(worst, subset)
        held &= fine
        shape = f"{len(frame):,} × {frame.shape[1]}"
        print(
            f"{name:14} {shape:>11} {risk.stated:6.1%} {risk.worst.name:30} {worst:6.1%} {who:30} {subset:6.1%} "
            f"{guess:6.1%} {linked / guess:5.2f} {leafwise / guess:5.2f} {'' if fine else 'FAILS'}",
            flush=True,
        )
    return held


if __name__ == "__main__":
    words = sys.argv[1:]
    tables = CHOSEN if words == ["chosen"] else {k: v for k, v in HELD_OUT.items() if not words or k in words}
    heads = f"{'table':14} {'records':>11} {'stated':>6} {'by':30} {'found':>6} {'again, by':30}"
    print(heads, "subset  guess near/ worst/")
    sys.exit(0 if all([measure(name, read) for name, read in tables.items()]) else 1)
