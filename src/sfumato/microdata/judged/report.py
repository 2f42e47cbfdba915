"""`ReleaseReport`: patterns kept, statistics kept, and risk; for the owner, and in a form that may be handed on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sfumato.microdata.draws import Draws
from sfumato.microdata.judged.frontier import Frontier
from sfumato.microdata.judged.risk import Risk, measure_risk
from sfumato.microdata.judged.utility import Score, held_out
from sfumato.microdata.kept.measures import FEWEST, Bias, compared, find_biases
from sfumato.microdata.kept.preserved import Preserved
from sfumato.microdata.methods.laws import RealisedNoise, realised_noise
from sfumato.microdata.patterns.comparison import TreeComparison
from sfumato.microdata.releasing import Release
from sfumato.pages import Page
from sfumato.prose import counted, percent, plain, sentence

MOST_ROWS = 40
"""Biases that the page shows, the largest first: about two screens. By judgement."""

TYPES = {  # the kinds of bias (see `kept.measures`) in the words of the report
    "mean": "means",
    "A": "variances (type A)",
    "B": "correlations between released attributes (type B)",
    "C": "correlations with kept columns and the class (type C)",
    "D": "shapes of the distributions (type D)",
}


@dataclass(frozen=True)
class ReleaseReport:
    """The measurements of a release: as prose (``str()``), plain data (``to_dict()``) or a page (``to_html()``).

    ``public=True`` leaves out what would help an intruder: amounts of noise, leaves, rules, single attributes at risk,
    notes on the input. ``rules``: the pattern tree beside the one grown on the release. ``utility``: scores of
    learners. ``association_change``: mean and largest change of an association. ``preserved``: which patterns survived.
    ``biases``: of statistics. ``shrunk_leaves``: repairs of correlation matrices. ``noise``: as it came out. ``apart``:
    pairs of attributes that too few records have both of, which are not compared. ``frontier``: risk against utility of
    other releases, where it was measured.
    """

    method: str
    records: int
    attributes: tuple[str, ...]
    amount: dict[str, float]
    rules: TreeComparison
    utility: tuple[Score, ...]
    association_change: dict[str, float]
    preserved: Preserved
    biases: tuple[Bias, ...]
    risk: Risk
    shrunk_leaves: tuple[dict[str, Any], ...]
    roles: dict[str, str]
    notes: tuple[str, ...]
    noise: tuple[RealisedNoise, ...] = ()
    has_target: bool = True
    apart: int = 0
    frontier: Frontier | None = None

    def with_frontier(self, frontier: Frontier) -> ReleaseReport:
        """Return the same report with ``frontier``, the risk against utility of other releases, for the owner."""
        return replace(self, frontier=frontier)

    def by_measure(self) -> dict[str, list[Score]]:
        """Return a dict of the learners' scores, as lists by measure (accuracy, AUC, …)."""
        measures = dict.fromkeys(score.measure for score in self.utility)
        return {measure: [score for score in self.utility if score.measure == measure] for measure in measures}

    def statistics(self) -> dict[str, tuple[int, int, float]]:
        """Return for each type of bias (errors of means, variances, …) how many statistics are right.

        A dict of (how many lie within chance, of how many, the largest bias) by the type's letter.
        """
        by_kind = {}
        for kind in TYPES:
            biases = [bias for bias in self.biases if bias.type == kind]
            if biases:
                largest = max(biases, key=lambda bias: abs(bias.bias)).bias
                by_kind[kind] = sum(bias.within for bias in biases), len(biases), largest
        return by_kind

    def to_dict(self, *, public: bool = False) -> dict[str, Any]:
        """Return the measurements as plain data for JSON; ``public``: without what would help an intruder."""
        shown: dict[str, Any] = {
            "method": self.method,
            "records": self.records,
            "attributes": list(self.attributes),
            "patterns": {
                "rules": self.rules.to_dict(),
                "utility": [score.to_dict() for score in self.utility],
                "association_change": self.association_change,
                "preserved": self.preserved.to_dict(),
            },
            "statistics": {
                TYPES[kind]: {"within_chance": good, "of": total, "largest": largest}
                for kind, (good, total, largest) in self.statistics().items()
            },
            "pairs_left_out": self.apart,
            "risk": self.risk.to_dict(public),
        }
        cleaned: dict[str, Any] = plain(shown if public else shown | self._for_the_owner())
        return cleaned

    def _for_the_owner(self) -> dict[str, Any]:
        """Return the measurements that would help an intruder, and so are for the owner alone, as plain data."""
        return {
            "amount": self.amount,
            "realised_noise": [vars(noise) for noise in self.noise],
            "biases": [bias.to_dict() for bias in self.biases],
            "kept_rules": list(map(str, self.rules.kept)),
            "lost_rules": list(map(str, self.rules.lost)),
            "shrunk_leaves": self.shrunk_leaves,
            "roles": self.roles,
            "notes": self.notes,
            "frontier": None if self.frontier is None else self.frontier.to_dict(),
        }

    def to_html(self, *, public: bool = False) -> str:
        """Return the report as the text of one HTML page without scripts or other files.

        ``public``: without what would help an intruder.
        """
        return _page(self, public=public).html()

    def __str__(self) -> str:
        others = [] if self.frontier is None else ["Risk against utility.", str(self.frontier)]
        measured = [self.patterns_in_words(), self.statistics_in_words(), self.risk_in_words()]
        return "\n".join([*measured, *self.notes, *others])

    def patterns_in_words(self, *, each: bool = True) -> str:
        """Return sentences on which patterns of the original a release keeps: rules, what is learnt, associations.

        ``each``: with the scores of every learner, not only the worst.
        """
        change = self.association_change["mean"]
        return (
            f"Patterns. A tree grown on the release: {self.rules}. {self.utility_in_words(each)} "
            f"The strength of association between two attributes changed by {change:.3f} on average, by "
            f"{self.association_change['largest']:.3f} at most. {self.preserved}"
        )

    def utility_in_words(self, each: bool) -> str:
        """Return sentences on what learners still learn; ``each``: with the scores of every learner."""
        if not self.utility:
            why = "too few records" if self.has_target else "there is no target; the associations tell what is kept"
            return f"What learners still learn was not measured: {why}."
        by_measure = self.by_measure().items()
        scores = "; ".join(f"{measure}: {', '.join(map(_score_in_words, some))}" for measure, some in by_measure)
        worst = max(self.utility, key=lambda score: score.lost)
        shown = scores if each else f"at worst {worst.in_points()} ({worst.measure}, {worst.learner})"
        return (
            f"Learners trained on such a release of two thirds of the records, tested on the true records of the rest, "
            "which neither the release nor its tree has seen "
            f"(mean of {worst.splits} splits ± standard error): {shown}."
        )

    def statistics_in_words(self) -> str:
        """Return sentences on how far means, variances and correlations of the release differ from the original's."""
        parts = [
            f"{TYPES[kind]} {good} of {total} within chance (largest change {largest:+.3f})"
            for kind, (good, total, largest) in self.statistics().items()
        ]
        pairs = f"{counted(self.apart, 'pair')} of attributes that fewer than {FEWEST} records have both of"
        left_out = f" Not compared: {pairs}." if self.apart else ""
        return "Statistics. " + ("; ".join(parts) or "There is no numeric attribute to compare") + f".{left_out}"

    def risk_in_words(self, *, public: bool = False) -> str:
        """Return sentences on the risk that people are found; ``public``: without what would help an intruder."""
        shown = self.risk.to_dict(public=True)
        return (
            f"Risk. {self.risk.in_words(public)} "
            f"{percent(shown['values_within_a_tenth_of_a_deviation'], 0)} of the released values lie within a tenth of "
            f"a standard deviation of the truth, {percent(shown['values_unchanged'], 0)} equal it, and "
            f"{percent(self.risk.whole_records)} of the records are unchanged."
        )


def _score_in_words(score: Score) -> str:
    """Return a learner's score on the release and on the original as text."""
    return f"{score.learner} {percent(score.released)} (original {percent(score.original)}, {score.in_points()})"


def report_on(release: Release) -> ReleaseReport:
    """Measure a release; measuring it again gives the same figures, because their random numbers are fixed."""
    original, released, draws = release.original, release.released, Draws(0)
    return ReleaseReport(
        method=release.method.name,
        records=len(original.y),
        attributes=tuple(original.names),
        amount=release.amount,
        rules=release.preserved.rules,
        utility=tuple(held_out(release, draws)),
        association_change=release.preserved.change,
        preserved=release.preserved,
        biases=tuple(find_biases(original, released, release.terms.kept)),
        apart=math.comb(len(original.fields), 2) - compared(original)[0].size if len(original.y) >= FEWEST else 0,
        risk=measure_risk(release, draws),
        shrunk_leaves=tuple(vars(fit) for fit in release.leaf_fits if fit.reason),
        roles=release.roles.by_column,
        notes=release.notes,
        noise=tuple(realised_noise(original, released, release.leaves)),
        has_target=original.target is not None,
    )


# --- the page ---------------------------------------------------------------------------------------------------------


def _page(report: ReleaseReport, *, public: bool) -> Page:
    """Return the report as a page; ``public``: for those who receive the data, without what helps an intruder."""
    kind = "For those who receive the data" if public else "For the owner; do not hand this page on"
    records = f"{report.records:,} records, {len(report.attributes)} attributes, method {report.method}"
    page = Page("Release report", f"{records}. {kind}.")
    _show_patterns(page, report, public)
    _show_statistics(page, report)
    _show_risk(page, report, public)
    if not public:
        _show_owner(page, report)
        _show_frontier(page, report)
    return page


def _show_patterns(page: Page, report: ReleaseReport, public: bool) -> None:
    """Add the section on patterns to a page."""
    page.section("Patterns").paragraph(_after_heading(report.patterns_in_words(each=False)))
    for measure, scores in report.by_measure().items():
        page.paragraph(f"On unseen records, {measure}:")
        page.bars((f"{score.learner}: {score.in_points()}", (score.released, score.original)) for score in scores)
    if report.utility:
        page.paragraph("Upper bar: trained on the release; lower bar: on the original it was made of.", soft=True)
    page.bars([("rules kept", report.rules.share_kept), ("records under kept rules", report.rules.share_covered)])
    if not public:
        page.unfold(f"Rules kept ({len(report.rules.kept)})", report.rules.kept)
        page.unfold(f"Rules lost ({len(report.rules.lost)})", report.rules.lost)


def _show_statistics(page: Page, report: ReleaseReport) -> None:
    """Add the section on statistics to a page."""
    page.section("Statistics").paragraph(_after_heading(report.statistics_in_words()))
    worst = sorted(report.biases, key=lambda bias: -abs(bias.bias) / max(bias.allowed, 1e-9))
    shown = [(f"{bias.type}: {bias.what}", bias.bias, bias.allowed) for bias in worst if bias.type in "ABC"]
    if shown:
        page.deviations(shown[:MOST_ROWS])
        legend = "Grey: what chance alone explains in 99 % of releases without bias. A dot outside is a bias."
        page.paragraph(legend, soft=True)


def _show_risk(page: Page, report: ReleaseReport, public: bool) -> None:
    """Add the section on risk to a page."""
    risk, shown = report.risk, report.risk.to_dict(public=True)
    page.section("Risk").paragraph(_after_heading(report.risk_in_words(public=public)))
    worst_first = sorted(risk.findings, key=lambda finding: -finding.risk)
    page.bars((finding.name, (finding.risk, finding.by_guessing)) for finding in worst_first if finding.aim == "find")
    legend = "Upper bar: people found at most (the upper 99 % limit); lower bar: the same by guessing."
    page.paragraph(legend, soft=True)
    guesses = [(one.name, (one.found, one.by_guessing)) for one in worst_first if one.aim == "guess"]
    if guesses:
        page.bars(guesses)
        page.paragraph("Upper bar: guessed right, for people in the table; lower bar: for people not in it.", soft=True)
    page.bars(
        [
            ("values close to the truth", shown["values_within_a_tenth_of_a_deviation"]),
            ("values unchanged", shown["values_unchanged"]),
            ("records unchanged", risk.whole_records),
        ]
    )
    if not public:
        page.unfold("Intruders in words", [f"{one.name}: {one.story}; {one.example}" for one in worst_first])
    if not public and risk.confinement:
        words = "The tree survives, so whoever knows it knows in which interval a value lies."
        page.paragraph(f"{words} On average a leaf leaves this share of an attribute's domain open:")
        page.bars(risk.confinement.items())


def _show_owner(page: Page, report: ReleaseReport) -> None:
    """Add the section for the owner alone to a page: roles, amounts of noise, leaves, notes."""
    leaves = [f"leaf {fit['leaf']}: {fit['reason']}, shrinkage {fit['shrinkage']:.2f}" for fit in report.shrunk_leaves]
    page.section("For the owner")
    page.unfold("Roles of the columns", [f"{name}: {role}" for name, role in report.roles.items()])
    page.unfold("Amounts of noise", [f"{name}: {amount:g}" for name, amount in report.amount.items()])
    page.unfold("Noise as it came, in shares of the leaf's interval", report.noise)
    page.unfold(f"Leaves with a shrunken correlation matrix ({len(leaves)})", leaves)
    page.unfold(f"Notes ({len(report.notes)})", report.notes)


def _show_frontier(page: Page, report: ReleaseReport) -> None:
    """Add the section on risk against utility to a page, where it was measured."""
    if report.frontier is not None:
        words = "Other releases of this table: the best lie at the top left, where little is found and much is learnt."
        clean = f"Trained on the original, learners reach {percent(report.frontier.original)} on average."
        page.section("Risk against utility").paragraph(f"{words} {clean}").chart(report.frontier.to_svg())
        page.bars((f"{p.method}, amount {p.amount:g}: {p.worst}", (p.accuracy, p.risk)) for p in report.frontier.points)
        page.paragraph("Upper bar: accuracy; lower bar: risk of the worst intruder, who is named, at most.", soft=True)


def _after_heading(text: str) -> str:
    """Return a part of the report's text without its first sentence, the word that is the heading already."""
    return sentence(text.partition(". ")[2])
