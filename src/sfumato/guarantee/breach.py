"""Find privacy breaches: a report and a property of the true value whose chance the report moves too far (EGS03 §3).

An upward ρ1-to-ρ2 breach is a property Q and a report y with P[Q] ≤ ρ1 and P[Q|y] ≥ ρ2; a downward one is the
upward breach of the opposite property, from 1 − ρ2 to 1 − ρ1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.domain import Categories, Cells, Floats
from sfumato.prose import Voice, plain, voice

SEARCHED_REPORTS = 600
"""Reports among which a breach is looked for, evenly thinned. By judgement: 600 × 250 posteriors take milliseconds;
with fewer the best example may be missed, while γ states the bound whatever is found."""
SEARCHED_VALUES = 250  # groups of neighbouring true values that make up properties, by judgement for the same reason
NOT_TOO_RARE = 1e-3
"""How often a report that proves a property must occur to be the example, as a share of the commonest report. By
judgement: a rarer one is a curiosity, and a commoner report that breaches says more."""


@dataclass(frozen=True)
class Breach:
    """The answer whether a ρ1-to-ρ2 breach can happen, with an example if one is found; ``bool()`` is true if it can.

    A breach is a report that moves the chance of a property of a person from at most ``rho1`` to at least ``rho2``, or
    back. ``gamma``: the largest factor of a report on the odds. ``possible``: whether a breach can happen. The others
    describe the example, and are empty without one: ``direction``: "up" if the report raises the chance of the
    property, "down" if it lowers it.
    ``report``: the report; ``claim``: the property in words; ``prior``, ``posterior``: its chance before and after.
    ``assumption``: what must be believed beforehand; or, without an example, the clear answers that permit a breach.
    ``language``: of its sentence, "en", "de" or "fr".

    >>> import sfumato as sf
    >>> breach = sf.RandomizedResponse(sf.Categories(range(20)), gamma=99).guarantee().breach(0.05, 0.5)
    >>> bool(breach), breach.direction, round(breach.prior, 2), round(breach.posterior, 2)
    (True, 'up', 0.05, 0.84)
    """

    rho1: float
    rho2: float
    gamma: float
    possible: bool
    direction: Literal["up", "down", ""] = ""
    report: Any = None
    claim: str = ""
    prior: float | None = None
    posterior: float | None = None
    assumption: str = ""
    language: str = "en"

    @property
    def excluded(self) -> bool:
        """Whether no report can move the chance of any property from ρ1 to ρ2 or back: the opposite of ``possible``."""
        return not self.possible

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self) -> str:
        say = voice(self.language)
        span = {"low": f"{say.number(100 * self.rho1, 3)} %", "high": f"{say.number(100 * self.rho2, 3)} %"}
        if not self.possible:
            return say("breach.excluded", **span, gamma=say.number(self.gamma, up=True))
        if not self.claim:
            kind = "breach.conditional" if self.assumption else "breach.permitted"
            return say(kind, **span, gamma=say.number(self.gamma, up=True), names=self.assumption)
        assert self.prior is not None and self.posterior is not None
        kind = "breach.raises" if self.direction == "up" else "breach.lowers"
        if not 1e-9 < self.posterior < 1 - 1e-9:
            kind = "breach.proves" if self.posterior > 0.5 else "breach.rules_out"
        before, after = say.percent(self.prior, 2), say.percent(self.posterior, 2)
        parts = {"claim": self.claim, "before": before, "after": after, "assumption": self.assumption}
        return say(kind, report=say.shown(self.report), **parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but ``gamma`` and ``language`` as a dict for JSON; "text" is the sentence that says them.
        """
        names = ["rho1", "rho2", "possible", "direction", "claim", "prior", "posterior", "assumption", "report"]
        return {**{name: plain(getattr(self, name)) for name in names}, "text": str(self)}


def find_breach(
    law: Floats, prior: Floats, channel: Any, rho1: float, rho2: float, language: str = "en"
) -> Breach | None:
    """Find a report that moves the chance of a property from ρ1 to ρ2 (a breach) under a prior belief; else None.

    For each report the property is made of the values that the report makes likelier, as many as together had a chance
    of at most ρ1 before; for breaches downward likewise of the opposite property. A report that proves a property is
    the example if such reports are not too rare; else it is, of all reports that breach, the one that occurs most
    often.

    ``law``: P[report, true code], where a code is the number of a value; ``prior``: the chances of the true codes;
    ``channel``: what has this table, and the names of its values and reports; ``rho1``, ``rho2``: the two chances;
    ``language``: of the example's words.
    """
    rows = np.flatnonzero(law @ prior > 0)
    if rows.size > SEARCHED_REPORTS:  # thinned evenly, ends included
        rows = rows[np.linspace(0, rows.size - 1, SEARCHED_REPORTS).astype(int)]
    groups = np.arange(prior.size) * min(SEARCHED_VALUES, prior.size) // prior.size
    weight = np.bincount(groups, prior).astype(np.float64)
    starts = np.searchsorted(groups, np.arange(weight.size))
    inside = np.add.reduceat(law[rows] * prior, starts, axis=1)
    share = inside.sum(axis=1)
    for direction, limit, wanted in (("up", rho1, rho2), ("down", 1 - rho2, 1 - rho1)):
        breach = _commonest(inside / share[:, None], weight, share, limit, wanted)
        if breach is not None:
            report, members = breach
            before, after = float(weight[members].sum()), float(inside[report, members].sum() / share[report])
            if direction == "down":
                members, before, after = ~members, 1 - before, 1 - after
            label = channel.outputs.decode(np.array([rows[report]]))[0]
            claim = describe_property(channel.inputs, members[groups], voice(language))
            example = (True, direction, label, claim, before, after)
            return Breach(rho1, rho2, channel.gamma, *example, language=language)  # type: ignore[arg-type]
    return None


def adversarial_breach(law: Floats, channel: Any, rho1: float, rho2: float, language: str = "en") -> Breach:
    """Return the breach (a report that moves a chance too far) under the worst prior belief, as a ``Breach``.

    The belief is P[x1] = ρ1 and P[x2] = 1 − ρ1 for two true values: those under which the report with the largest ratio
    of chances is likeliest and least likely. ``law``: the channel's table P[report, true code], where a code is the
    number of a value.
    """
    high, low = law.max(axis=1), law.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(high > 0, high / low, 0.0)
    row = int(np.argmax(ratio))
    likely, unlikely = int(np.argmax(law[row])), int(np.argmin(law[row]))
    after = law[row, likely] * rho1 / (law[row, likely] * rho1 + law[row, unlikely] * (1 - rho1))
    value, other = (channel.inputs.decode(np.array([code]))[0] for code in (likely, unlikely))
    label = channel.outputs.decode(np.array([row]))[0]
    say = voice(language)
    words = say("claim.is", labels=say.shown(value))
    assumption = say("breach.pair", one=say.shown(value), other=say.shown(other))
    example = (True, "up", label, words, rho1, float(after), assumption)
    return Breach(rho1, rho2, float(ratio[row]), *example, language)  # type: ignore[arg-type]


def _commonest(posterior: Floats, weight: Floats, share: Floats, limit: float, wanted: float) -> tuple[int, Any] | None:
    """Find the commonest report that moves the chance of some property from ``limit`` to ``wanted`` (a breach).

    Returns (the report's row, a mask of the groups of values that make up the property), or None if no report does.
    True values are taken in groups of neighbours, to save time. For each report the best set of groups takes them in
    the order of posterior/prior while its prior chance is at most ``limit`` (Neyman–Pearson). A report that proves the
    property comes first unless it is rare.

    ``posterior``: [report, group], the chance of each group after each report; ``weight``: the chance of each group
    before; ``share``: how often each report occurs.
    """
    gain = posterior / np.maximum(weight, 1e-300)
    order = np.argsort(-np.round(gain / gain.max(axis=1, keepdims=True), 9), axis=1, kind="stable")
    taken = np.cumsum(weight[order], axis=1) <= limit + 1e-12
    reached = np.where(taken, np.take_along_axis(posterior, order, axis=1), 0.0).sum(axis=1)
    breaching = reached >= wanted - 1e-12
    if not breaching.any():
        return None
    proving = (reached >= 1 - 1e-9) & (share >= NOT_TOO_RARE * share.max())
    report = int(np.argmax(np.where(proving if proving.any() else breaching, share, -1.0)))
    members = np.zeros(weight.size, dtype=bool)
    members[order[report][taken[report]]] = True
    return report, members & (posterior[report] > 0)


def describe_property(space: Any, members: Any, say: Voice) -> str:
    """Write a property, which is a set of true values, in words: "the answer is …", "the value is at least …".

    ``space``: the categories, or the grid or cells of the numbers; ``members``: a mask of the values in the set;
    ``say``: the writer of the language.
    """
    codes = np.flatnonzero(members)
    if isinstance(space, Categories):
        labels = say.listed(map(say.shown, space.decode(codes[:5])), "or")
        return say("claim.is.more" if codes.size > 5 else "claim.is", labels=labels)
    ends = np.flatnonzero(np.diff(codes) > 1)
    runs = zip(codes[np.append(0, ends + 1)], codes[np.append(ends, codes.size - 1)], strict=True)
    return say("claim.value", runs=say.listed((_run(space, int(first), int(last), say) for first, last in runs), "or"))


def _run(space: Any, first: int, last: int, say: Voice) -> str:
    """Write a run of neighbouring numbers in words: "is at least 40", "is at most 20", "lies between 20 and 40".

    ``space``: the grid, or the cells (intervals), of the numbers; ``first`` and ``last``: their indices there.
    """
    lows, highs = (space.edges[:-1], space.edges[1:]) if isinstance(space, Cells) else (space.values, space.values)
    low, high = float(lows[first]), float(highs[last])
    kind = "claim.least" if last == space.size - 1 else "claim.most" if first == 0 else "claim.between"
    return say(kind, low=say.number(low, 6), high=say.number(high, 6))
