"""What is still learnt from a release: ours beside two peers, on records that no release has seen.

    python bench/release_utility.py                      Adult, and six sets that no choice was made on
    python bench/release_utility.py --only adult         only Adult
    python bench/release_utility.py --only pima,wdbc     other KEEL sets by name

Two thirds of a set's records are released (of Adult the training file), learners train on the release and predict the
others; loss is against the same learner trained on the true records. A run is a split, the same for all (Adult: 3
releases). The standard errors count that splits overlap.

Peers:
    synthesis   as R's synthpop does by default: columns in the table's order, the class last; the first is drawn with
                replacement, each other from the leaf of a CART tree on the columns before it, grown on the true records
                (at least 5 in a leaf, no pruning) and entered with the synthetic ones; numbers are not smoothed
    swap        rank swapping inside 15 % of the ranks; the class stays; and inside as many ranks as it takes to bring
                its worst risk down to ours (the first of 2, 5, 10, 15, 20, 30, 45, 60, 80, 100 %)
    Outliers and rare labels are replaced before either, as they are in ours: exact extreme values are visible
    otherwise, a risk of 50 % for synthesis and of 100 % for swapping, whatever the window. (Not so for Adult.)

Worst risk: what the report states of a release of the whole set, that of the worst of all intruders, with its name. A
synthetic record is nobody's own, so only membership and guesses can succeed there; where it is asked whose it is, the
answer is chance. Linked (Adult): the share of true records whose own released one is the nearest.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from harness import Bench, main
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sfumato as sf
from reproductions.datasets import keel_rows, load
from sfumato.microdata import Donors, Method, Release, Swap, Treatment
from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders import IntruderFinding, send_intruders
from sfumato.microdata.intruders.linkage import linked_by_attributes
from sfumato.microdata.judged.utility import LEARNERS, held_out
from sfumato.microdata.kept.preserved import judge
from sfumato.microdata.methods.method import Moved, Terms, agree
from sfumato.microdata.patterns.pattern import find_pattern
from sfumato.microdata.releasing import release_records
from sfumato.microdata.table.fields import Microdata, read_microdata

SETS = ("dermatology", "mammographic", "nursery", "page-blocks", "saheart", "segment")
RELEASES = 3
WINDOWS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
LIMITS = dict.fromkeys(LEARNERS, 0.02) | {"tree": 0.01}


def keel(name: str) -> tuple[dict[str, np.ndarray], str]:
    """One of KEEL's sets; columns of numbers are numbers, "?" and "<null>" are missing."""
    columns = {}
    for place, column in enumerate(zip(*keel_rows(name)[0], strict=True)):
        cells = [None if cell.strip() in ("?", "<null>", "") else cell.strip() for cell in column]
        try:
            columns[f"x{place}"] = np.array([np.nan if cell is None else float(cell) for cell in cells])
        except ValueError:
            columns[f"x{place}"] = np.array(cells, dtype=object)
    target = f"x{place}"
    columns[target] = np.array([str(label) for label in columns[target]])
    return columns, target


# --- releases ---------------------------------------------------------------------------------------------------------


def by(method: Method, data: Microdata, seed: int) -> Microdata:
    return release_records(data, agree(data, method), Draws(seed)).released


@dataclass(frozen=True)
class Synthesis(Method):
    """Every column, the class too, drawn from a tree on those before it."""

    name = "synthesis"

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        made = synthesised(data, int(2**31 * draws.uniform(1)[0]))
        return Moved(made.X, made.y, find_pattern(None, data))


def synthesised(data: Microdata, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    true = np.column_stack([data.X, data.y])
    drawn = np.empty_like(true)
    for place in range(true.shape[1]):
        label = place == data.X.shape[1] or not data.numeric[place]
        kind = DecisionTreeClassifier if label else DecisionTreeRegressor
        column = np.nan_to_num(true[:, place], nan=-1e9)
        cell, wanted = np.zeros((2, len(true)), dtype=int)
        if place:
            tree = kind(min_samples_leaf=5, random_state=0).fit(true[:, :place], column)
            cell, wanted = tree.apply(true[:, :place]), tree.apply(drawn[:, :place])
        order = np.argsort(cell, kind="stable")
        first, last = (np.searchsorted(cell[order], wanted, side) for side in ("left", "right"))
        drawn[:, place] = true[order[first + (rng.random(len(true)) * (last - first)).astype(int)], place]
    return data.with_values(drawn[:, :-1], drawn[:, -1].astype(int))


RELEASES_BY = {"ours": partial(by, Donors()), "synthesis": synthesised, "swap": partial(by, Swap())}


# --- measures ---------------------------------------------------------------------------------------------------------


def worst(release: Release) -> IntruderFinding:
    return max(send_intruders(release, Draws(0)), key=lambda finding: finding.risk)


def releases(columns: dict[str, np.ndarray], target: str) -> Iterator[tuple[str, Release]]:
    """Ours, synthesis, swapping, and swapping at our risk (or as near to it as it comes)."""
    done = sf.release(columns, target, rng=0)
    usual, limit = sf.release(columns, target, Swap(), rng=0), worst(done).risk
    yield "ours", done
    yield "synthesis", sf.release(columns, target, Synthesis(), treatment=Treatment(gaps="keep"), rng=0)
    yield "swap 15 %", usual
    swapped = ((window, sf.release(columns, target, Swap(window), rng=0)) for window in WINDOWS)
    tried = [(worst(made).risk, window, made) for window, made in swapped]
    _, window, made = next((one for one in tried if one[0] <= limit), min(tried, key=lambda one: one[0]))
    yield f"swap {100 * window:.0f} %, equal", made


def show_losses(bench: Bench, names: list[str]) -> None:
    title = f"Points of accuracy lost, mean of {bench.runs} splits; * more than 1 (tree) or 2"
    bench.table(title, dict.fromkeys(LEARNERS, "s") | {"worst risk": ".1%", "by": "s"})
    for name in names:
        for method, release in releases(*keel(name)):
            found = [one for one in held_out(release, Draws(17), bench.runs) if one.measure == "accuracy"]
            cells = [
                f"{100 * one.lost:.1f} ± {100 * one.error:.1f}{' *' if one.lost > LIMITS[one.learner] else ''}"
                for one in found
            ]
            finding = worst(release)
            bench.row(f"{name}, {method}", *cells, finding.risk, finding.name)


def cramer(first: np.ndarray, second: np.ndarray) -> float:
    """√(χ²/(n·(min(rows, columns) − 1)))."""
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if min(table.shape) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def coded(data: Microdata, reference: Microdata) -> list[np.ndarray]:
    """Every column and the class as codes: values where they are at most 20, else ten groups of the reference."""
    found = []
    for place in range(len(data.fields)):
        known = reference.X[~np.isnan(reference.X[:, place]), place]
        few = not data.numeric[place] or np.unique(known).size <= 20
        edges = np.unique(known if few else np.quantile(known, np.linspace(0, 1, 11)[1:-1]))
        found.append(np.searchsorted(edges, np.nan_to_num(data.X[:, place], nan=np.inf)))
    return [*found, data.y]


def impossible(released: Microdata, original: Microdata) -> float:
    """Records with an education that is not its number's, a husband who is female, a wife who is male, or either of
    them not married."""
    shown, true = released.to_table(), original.to_table()
    allowed = set(zip(true["education"], true["education_num"], strict=True))
    pairs = zip(shown["education"], shown["education_num"], strict=True)
    wrong = np.array([pair not in allowed for pair in pairs])
    role, sex = shown["relationship"], shown["sex"]
    wrong |= ((role == "Husband") & (sex == "Female")) | ((role == "Wife") & (sex == "Male"))
    married = np.array([str(state).startswith("Married") for state in shown["marital_status"]])
    return float((wrong | (np.isin(role, ["Husband", "Wife"]) & ~married)).mean())


def show_adult(bench: Bench) -> None:
    train, test = load("adult"), load("adult-test")
    columns = {name: np.concatenate([train.columns[name], test.columns[name]]) for name in train.columns}
    whole = read_microdata(columns, train.target)
    part, unseen = whole.take(np.arange(len(train))), whole.take(np.arange(len(train), len(whole.y)))

    def auc(data: Microdata) -> float:
        model = HistGradientBoostingClassifier(random_state=0).fit(data.X, data.y)
        return float(roc_auc_score(unseen.y, model.predict_proba(unseen.X)[:, 1]))

    paired = release_records(part, agree(part, Swap()), Draws(0))
    clean, before = auc(part), coded(part, part)
    upper = [(i, j) for i in range(len(before)) for j in range(i)]
    strength = np.array([cramer(before[i], before[j]) for i, j in upper])
    bench.table(
        f"Adult; AUC of boosting on the test file {clean:.4f}",
        {"impossible": ".3%", "largest change of V": ".3f", "AUC lost": ".4f", "rules kept": ".1%", "linked": ".2%"},
    )
    bench.row("limit", impossible(part, part) + 0.001, 0.05, 0.01, None, None)
    for name, method in RELEASES_BY.items():
        rows = []
        for seed in range(1 if bench.quick else RELEASES):
            released = method(part, 100 + seed)
            after = coded(released, part)
            moved = np.abs([cramer(after[i], after[j]) for i, j in upper] - strength).max()
            kept = kept_rules(part, released)
            rows.append([impossible(released, part), moved, clean - auc(released), kept])
            linked = linked_by_attributes(replace(paired, released=released), Draws(0))
        worst, mean = np.max(rows, axis=0), np.mean(rows, axis=0)
        bench.row(name, *worst[:2], *mean[2:], linked)


def kept_rules(original: Microdata, released: Microdata) -> float:
    """Records under rules that a tree grown on the release has too; columns given by others left out of the trees."""
    from sfumato.microdata.patterns.rules import find_rules, read_off

    rules = find_rules(original, np.zeros(len(original.fields), bool))
    pattern = find_pattern(None, original, leave_out=read_off(rules))
    again = pattern.grower.grow(released.X, released.y)
    return judge(original, released, pattern.tree, again, (), agree(original, Donors())).rules.share_covered


def measure(bench: Bench) -> None:
    warnings.simplefilter("ignore")
    usual = ("saheart",) if bench.quick else ("adult", *SETS)
    names = bench.only.split(",") if bench.only else list(usual)
    if "adult" in names:
        show_adult(bench)
    if rest := [name for name in names if name != "adult"]:
        show_losses(bench, rest)


if __name__ == "__main__":
    main(measure, runs=8)
