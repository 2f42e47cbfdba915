"""The page of a survey: its figures with charts, complete without any script; what lies within noise is grey (`bars`).

A collector adds the state of its survey (`Standing`), and a script that reloads the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.findings.analysis import estimates, joint
from sfumato.findings.bars import POINTS
from sfumato.findings.comparison import (
    LISTED_LABELS,
    SHOWN_LABELS,
    Figures,
    reach,
    show_groups,
    show_together,
    shown_rows,
)
from sfumato.findings.fakes import FAKES, FEWEST_DAYS, unusual_days
from sfumato.findings.learned import show_itemsets, show_model
from sfumato.guarantee.page import guarantee_list
from sfumato.pages import Card, Html, Page, folded, table, tag
from sfumato.pages.charts import Mark, day_bars, histogram, share_bars, within_bounds
from sfumato.pages.html import paragraphs
from sfumato.plan import Plan
from sfumato.prose import counted, in_words, listed, percent, sentence, shown, voice
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.misfit import FALSE_ALARM

SCRIPT = "/static/dashboard.js"
SHOWN_JOBS = 10
"""The most jobs of the collector that are listed, the latest ones. By judgement."""
SHOWN_DAYS = 60
"""The most days in the chart of arrivals. By judgement: bars that are still wide enough to point at."""
BEYOND = 100_000_000
"""The largest number of needed reports that is written out. By judgement: nobody collects more, and digits beyond would
look like a plan."""
READABLE = 0.05
"""Half a 90 % bar up to which every share of a question counts as known: the largest of `bars.POINTS`."""
GROUPS = "Each group's 90 % bars; in colour where it differs from the others by more than chance explains."
FAKED = (
    "Nobody can be asked to prove an answer. So far fakes could move a share, or the mean of numbers, at worst: with "
    "reports made up freely, and with false answers that were blurred as the plan says."
)


@dataclass(frozen=True)
class Standing:
    """The state of a collector's survey: all that its page shows beside estimates.

    ``name``: of the survey; ``state``: "open" or "closed"; ``days``: (date, accepted, withdrawn), oldest first;
    ``rejections``: how many reports were refused, by reason; ``invitations``: how many were issued and used, None where
    none are needed; ``model``: the shipped model's document; ``itemsets``: what `sfumato itemsets mine --json` writes,
    ``itemsets`` and ``rules``; ``jobs``: the latest jobs with ``kind``, ``state`` and ``said``.
    """

    name: str
    state: str = "open"
    days: Sequence[tuple[Any, int, int]] = ()
    rejections: Mapping[str, int] = field(default_factory=dict)
    invitations: tuple[int, int] | None = None
    model: Mapping[str, Any] | None = None
    itemsets: Mapping[str, Any] | None = None
    jobs: Sequence[Mapping[str, Any]] = ()


def page_of(
    reports: Any, plan: Plan, standing: Standing | None = None, *, figures: Mapping[str, Any] | None = None,
    together: tuple[str, str] | None = None, **wishes: Any,
) -> Page:
    """Make the page of estimates from reports, to be opened offline or, with ``standing``, to be served by a collector.

    ``reports``, ``plan`` and ``wishes``: as `estimates` takes them. ``standing``: the state of a collector's survey.
    ``figures``: what `estimates` returned for these reports already. ``together``: two questions to be shown together,
    which takes a table of reports.

    >>> import sfumato as sf
    >>> plan = sf.Plan.from_dict({"name": "town", "attributes": {
    ...     "fare": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 9}}})
    >>> page_of(plan.randomize({"fare": ["yes", "no"] * 50}, rng=1), plan).title
    'town'
    """
    figures = estimates(reports, plan, **wishes) if figures is None else figures
    questions, number = figures["questions"], int(figures["reports"])
    state = f"; the survey is {standing.state}" if standing else ""
    lead = f"{counted(number, 'report')}{state}. People blurred their answers themselves."
    page = Page(standing.name if standing else plan.name, lead, script=SCRIPT if standing else None)
    page.facts(_list_facts(figures, standing)).contents()
    _show_crowd(page, questions)
    _show_precision(page, questions, number, figures["class"])
    show_groups(page, questions, "by_class", f"Compared by {figures['class']}", GROUPS)
    show_groups(page, questions, "by_level", "Compared by privacy level", GROUPS)
    pair = joint(reports, plan, *together) if together else None
    show_together(page, plan, pair, with_form=standing is not None)
    if standing is not None and standing.model is not None:
        show_model(page, standing.model)
    if standing is not None and standing.itemsets is not None:
        show_itemsets(page, standing.itemsets)
    _show_fakes(page, questions, standing)
    if standing is not None:
        _show_arrivals(page, standing)
    _show_promise(page, plan, with_form=standing is not None)
    return page


def _list_facts(figures: Mapping[str, Any], standing: Standing | None) -> list[tuple[str, str]]:
    """List the numbers at the head of the page as pairs of texts (number, what it counts)."""
    half_widths = [each["precision"]["half_width"] for each in figures["questions"].values()]
    widths = sorted(each["typical"] for each in half_widths if each)
    usual = [(f"± {100 * widths[len(widths) // 2]:.1f}", "points: the 90 % bar of a usual share")] if widths else []
    facts = [(f"{figures['reports']:,}", "reports")]
    if standing is None:
        return [*facts, (f"{len(figures['questions'])}", "questions"), *usual]
    taken = "new reports are taken" if standing.state == "open" else "new reports are refused"
    facts += [(standing.state, taken), *usual]
    facts.append((f"{sum(standing.rejections.values()):,}", "reports turned away"))
    if standing.invitations is not None:
        issued, used = standing.invitations
        facts.append((percent(used / issued if issued else 0.0, 0), f"of {counted(issued, 'invitation')} used"))
    withdrawn = sum(day[2] for day in standing.days)
    return [*facts, (f"{withdrawn:,}", "withdrawn")] if withdrawn else facts


# --- what the crowd looks like ----------------------------------------------------------------------------------------


def _show_crowd(page: Page, questions: Mapping[str, Figures]) -> None:
    """Add the section with the estimated shares to a page: a card with a chart for each question."""
    lead = "Reconstructed from the reports, with 90 % bars. A share whose bar reaches zero is grey: it may be nobody."
    page.section("What the crowd looks like", lead)
    page.legend({"seen": "can be told from zero", "unseen": "within noise"})
    page.cards(_question_card(name, each) for name, each in questions.items())


def _question_card(name: str, figures: Figures) -> Card:
    """Make the card of one question: how many answered, the chart of its shares, a note, a folded table of numbers.

    ``name``: in the plan; ``figures``: the question's entry in what `estimates` returns.
    """
    title = figures["question"]
    how = [f"{counted(int(figures['reports']), 'answer')}, {figures['missing']:,.0f} left out"]
    how = [*([name] if title != name else []), *how, *([] if figures["blurred"] else ["sent as it is"])]
    if not figures["rows"]:
        return Card(title, "; ".join(how), note=" ".join(figures["messages"]))
    chart, numbers = chart_of(title, shown_rows(figures)), folded("The numbers", _number_table(figures))
    return Card(title, "; ".join(how), chart, _write_note(figures), numbers)


def chart_of(question: str, rows: Sequence[Mapping[str, Any]], marks: Sequence[Mark] = ()) -> Html:
    """Draw the shares of an estimate as HTML: numbers as a histogram, categories and items as bars below each other.

    ``question``: the chart's title; ``rows``: what `rows_of` returns, one at least; ``marks``: further values drawn
    beside the bars, such as the truth of a simulation.
    """
    if rows[0]["low"] is None:
        return share_bars(rows, marks)
    return histogram(rows, f"{question}: shares of {len(rows)} ranges", marks)


def _write_note(figures: Figures) -> str:
    """Write the sentences below a question's chart: the mean, how many answers are not shown, and the messages."""
    sentences = []
    if figures["mean"]:
        sentences.append(f"Mean {WithError(figures['mean']['value'], reach(figures['mean']))} (90 %).")
    if len(figures["rows"]) > len(shown_rows(figures)):
        sentences.append(f"The largest {SHOWN_LABELS} of {len(figures['rows']):,}.")
    return " ".join([*sentences, *figures["messages"]])


def _number_table(figures: Figures) -> Html:
    """Make the HTML table of a question's answers with their shares and 90 % bars."""
    cells = [
        [
            row["label"],
            percent(within_bounds(row["value"])),
            f"{percent(row['from'])} to {percent(row['to'])}",
            "within noise" if row["within_noise"] else "",
        ]
        for row in shown_rows(figures, LISTED_LABELS)
    ]
    return table(cells, ["answer", "share", "90 % bar", "note"], description=f"{figures['question']}: numbers")


# --- what can and cannot be told --------------------------------------------------------------------------------------


def _show_precision(page: Page, questions: Mapping[str, Figures], reports: int, target: str | None) -> None:
    """Add the section on how wide every question's 90 % bars are, and how many reports would make them narrower.

    ``reports``: how many there are; ``target``: the question that groups people into classes, None without one.
    """
    lead = "Half a 90 % bar of the shares, in points, and how many reports in all would make every one ± 5, ± 2 or ± 1."
    page.section("What the reports can and cannot tell", lead).items(_write_verdicts(questions, reports))
    gaps = [f"difference by {target} that stands out"] if target else []
    wanted = [f"reports for ±\u00a0{100 * h:g}" for h in POINTS]
    columns = ["question", "usual\u00a0±", "worst\u00a0±", "mean\u00a0±, in % of the range", *gaps, *wanted]
    rows = [_precision_row(name, each["precision"], reports, bool(target)) for name, each in questions.items()]
    page.table(rows, columns)
    if any(each["precision"]["rough"] for each in questions.values()):
        page.paragraph(
            "Marked ~: shares of ranges of blurred numbers sharpen in their own time, sooner where people are spread "
            "smoothly and later where the noise hides detail, so theirs is a rough guide. Means keep to the rule.",
            soft=True,
        )


def _precision_row(name: str, precision: Figures, reports: int, grouped: bool) -> list[object]:
    """Return a question's row of the table of precision, as texts, with "" for what is not known.

    ``precision``: what `estimates` has under this key; ``reports``: how many there are; ``grouped``: whether the table
    has a column for differences between classes.
    """
    widths = [precision["half_width"] and precision["half_width"][key] for key in ("typical", "worst")]
    gap = [precision["smallest_difference"]] if grouped else []
    points = [*widths, precision["mean"] and precision["mean"]["half_width"], *gap]
    wanted = [""] * len(POINTS)
    if precision["needed"]:
        rough = "~ " if precision["rough"] else ""
        needed = precision["needed"].values()
        wanted = ["enough" if count <= reports else rough + _rough_count(count) for count in needed]
    return [name, *("" if width is None else f"{100 * width:.1f}" for width in points), *wanted]


def _write_verdicts(questions: Mapping[str, Figures], reports: int) -> list[str]:
    """Write a few sentences: which questions are known well, how many more reports are needed, what is noise."""
    precisions = {name: each["precision"] for name, each in questions.items()}
    widths = {name: each["half_width"]["worst"] for name, each in precisions.items() if each["half_width"]}
    if not widths:
        return ["There are no answers yet, so nothing can be told."]
    sharp = [name for name, width in widths.items() if width <= READABLE]
    broad = [name for name in widths if name not in sharp]
    sentences = [f"Every share is known to ± {100 * READABLE:g} points or better: {listed(sharp)}."] if sharp else []
    if broad:
        sentences.append(f"Some shares are known less well than ± {100 * READABLE:g} points: {listed(broad)}.")
    needed = max((each["needed"]["2"] for each in precisions.values() if each["needed"]), default=0)
    if needed > reports:
        total, more = _rough_count(needed), _rough_count(needed - reports)
        sentences.append(f"For ± 2 points everywhere about {total} reports are needed, {more} more than there are.")
    rows = [row for each in questions.values() for row in each["rows"]]
    grey = sum(row["within_noise"] for row in rows)
    if grey:
        sentences.append(f"{grey} of {counted(len(rows), 'share')} {'is' if grey == 1 else 'are'} within noise.")
    return sentences


def _rough_count(count: int) -> str:
    """Write a number of reports rounded to two digits that are not 0, or as "more than" BEYOND."""
    return f"more than {BEYOND:,}" if count > BEYOND else in_words(count, 2)


# --- fakes, arrivals, promises ----------------------------------------------------------------------------------------


def _show_fakes(page: Page, questions: Mapping[str, Figures], standing: Standing | None) -> None:
    """Add the section about made-up reports to a page: how far they could move estimates, and signs of them.

    ``standing``: the state of a collector's survey, whose unusual days are named; None offline.
    """
    page.section("If some reports were made up", FAKED)
    kinds = {"made_up": "made-up reports", "lies": "false answers"}
    columns = ["question", *(f"{percent(part, 0)} {words}" for part in FAKES for words in kinds.values())]
    faked = {name: each["fakes"] for name, each in questions.items() if each["fakes"]}
    rows = [
        [name, *(_moved_text(fakes["of"], part[kind]) for part in fakes["moved"] for kind in kinds)]
        for name, fakes in faked.items()
    ]
    if rows:
        page.table(rows, columns)
    page.items([*_write_signs(questions), *(_name_floods(standing.days) if standing else [])])


def _moved_text(what: str, by: float) -> str:
    """Write by how much made-up reports move an estimate: a "share" in points, the "mean" in its own unit."""
    return f"{100 * by:.1f} points" if what == "share" else f"mean by {in_words(by, 2)}"


def _write_signs(questions: Mapping[str, Figures]) -> list[str]:
    """Write sentences on whether reports look as if they came through their channels.

    They name reports that came too often, and questions whose reports misfit their channel.
    """
    heaped = {name: each["heaps"][0] for name, each in questions.items() if each["heaps"]}
    signs = [
        f"{name}: the report {shown(heap['report'])} came {heap['count']:,} times, where whatever people answer "
        f"{in_words(heap['expected'], 2)} are expected at most."
        for name, heap in heaped.items()
    ]
    strange = [name for name, each in questions.items() if each["fit"] is not None and each["fit"] < FALSE_ALARM]
    if strange:
        signs.append(f"The reports of {listed(strange)} do not look as if they came through their channel.")
    return signs or ["All reports look as if they came through their channels; fakes that imitate a channel do so too."]


def _name_floods(days: Sequence[tuple[Any, int, int]]) -> list[str]:
    """Write a sentence for each day with far more reports or withdrawals than usual, or one that there is none.

    ``days``: (date, accepted, withdrawn).
    """
    if len(days) < FEWEST_DAYS:
        return [f"Unusual days cannot be told before there are {FEWEST_DAYS} of them."]
    return [
        f"{sentence(day['what'])[:-1]} on {day['day']}: {day['count']:,}, where {day['usual']:,.0f} is usual."
        for day in unusual_days(days)
    ] or ["No day has far more reports or withdrawals than is usual."]


def _show_arrivals(page: Page, standing: Standing) -> None:
    """Add the section about a collector's survey to a page: reports a day, refused reports, invitations and jobs."""
    cards = []
    if standing.days:
        days, unusual = list(standing.days)[-SHOWN_DAYS:], {day["day"] for day in unusual_days(standing.days)}
        cards.append(Card("Reports a day", "", day_bars(days, unusual, f"Reports on {counted(len(days), 'day')}")))
    turned = sorted(standing.rejections.items(), key=lambda pair: -pair[1])
    away = table([[reason, f"{count:,}"] for reason, count in turned], ["reason", "reports"], description="Turned away")
    cards.append(Card("Turned away", more=away) if turned else Card("Turned away", note="No report was turned away."))
    if standing.invitations is not None:
        issued, used = standing.invitations
        note = f"{counted(issued, 'invitation')} issued, {used:,} used. Nobody can tell which report came with which."
        cards.append(Card("Invitations", note=note))
    if standing.jobs:
        jobs = [[job["kind"], job["state"], job.get("said") or ""] for job in list(standing.jobs)[:SHOWN_JOBS]]
        cards.append(Card("Jobs", more=table(jobs, ["job", "state", "said"], wrap=True, description="Jobs")))
    page.section("Coming in").cards(cards)


def _show_promise(page: Page, plan: Plan, with_form: bool) -> None:
    """Add the section with the privacy guarantee, in the words that respondents read, and the page's footer.

    ``with_form``: the footer has a button to sign out.
    """
    say = voice(plan.language)
    page.section("What is promised", "What respondents were told, in the words that they read.")
    total = plan.guarantee() if any(each.channel for each in plan.attributes.values()) else None
    words = str(total) if total else "Nothing was blurred, so nothing is protected."
    parts = total.parts if total else {}
    each_by_itself = [
        folded(each.question or name, guarantee_list(parts.get(name), say)) for name, each in plan.attributes.items()
    ]
    page.add(tag("div", tag("blockquote", paragraphs(words)), *each_by_itself, lang=plan.language))
    footer = f"The plan's identity is {plan.identity[:16]}. Estimates are of the crowd, never of one person."
    form = tag("form", footer, " ", tag("button", "Sign out"), method="post", action="/logout")
    page.footer(form if with_form else footer)
