"""The parts of the page that compare groups of people, and that show two questions together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.findings.analysis import seen_together
from sfumato.pages import Card, Html, Page, folded, table, tag
from sfumato.pages.charts import NINETY_PERCENT, compared_numbers, compared_shares, within_bounds
from sfumato.plan import Plan
from sfumato.prose import counted, listed, percent
from sfumato.reconstruction.estimate import WithError

SHOWN_LABELS = 12
"""The most categories or items of a chart, the largest ones. By judgement: bars below each other that fit a card."""
LISTED_LABELS = 100
"""The most categories or items of a table of numbers, which is folded. By judgement: a few screens."""
HEATS = 8
"""The deepest shade of a cell: classes h0 to h8 of pages/page.css."""

Figures = Mapping[str, Any]


def shown_rows(question: Figures, most: int = SHOWN_LABELS) -> list[Figures]:
    """Return the rows (answers with shares) to show: all ranges of numbers, or the ``most`` largest of other answers.

    ``question``: the figures of one question, as `estimates` returns them.
    """
    rows = list(question["rows"])
    if len(rows) <= most or question["kind"] == "numbers":
        return rows
    return sorted(rows, key=lambda row: -row["value"])[:most]


def reach(row: Figures) -> float:
    """Return half the width of a row's 90 % bar, 1.645 times its ``stderr``."""
    return float(NINETY_PERCENT * row["stderr"])


# --- groups -----------------------------------------------------------------------------------------------------------


def show_groups(page: Page, questions: Mapping[str, Figures], view: str, title: str, lead: str) -> None:
    """Add a section that compares groups of people to a page: a card for each question that has groups.

    Nothing is added where no question has any. ``questions``: the figures of `estimates` by question; ``view``:
    "by_class" or "by_level"; ``lead``: the text below the ``title``.
    """
    compared = [each for each in questions.values() if each[view]]
    if not compared:
        return
    labels = dict.fromkeys(group["label"] for each in compared for group in each[view]["groups"])
    colours = {f"g{number}": label for number, label in enumerate(labels)}
    page.section(title, lead).legend({**colours, "unseen": "no difference shown"})
    page.cards(_comparison_card(each, each[view], list(labels)) for each in compared)


def _comparison_card(question: Figures, comparison: Figures, labels: Sequence[Any]) -> Card:
    """Make the card of one question, which compares its groups: a chart, sentences, and a folded table of numbers.

    ``labels``: those of all groups on the page, in the order of their colours.
    """
    groups, title = comparison["groups"], question["question"]
    if len(groups) < 2:
        only = f"Only {groups[0]['label']} can be seen" if groups else "No group can be seen"
        return Card(title, note=f"{only}; there is nothing to compare.")
    shown = {row["label"] for row in shown_rows(question)}
    series = []
    for group in groups:
        rows = [row for row in _group_rows(question, group, comparison) if row["label"] in shown]
        series.append((labels.index(group["label"]), str(group["label"]), rows))
    if question["kind"] == "numbers":
        names = listed(name for _, name, _ in series)
        chart = compared_numbers(series, f"{title}: {names} compared")
    else:
        chart = compared_shares(series)
    numbers = folded("The numbers", _number_table(question, comparison))
    return Card(title, "", chart, _describe(comparison), numbers)


def _group_rows(question: Figures, group: Figures, comparison: Figures) -> Iterator[dict[str, Any]]:
    """Yield the rows of one group for a chart: an answer, the group's share with its bar, and ``within_noise``.

    A row is within noise where the group's share does not differ from the other groups' by more than chance explains.
    """
    differences = comparison["differences"]
    own = next((gap for gap in differences if gap["label"] == group["label"]), differences[0])
    for whole, row, gap in zip(question["rows"], group["rows"], own["rows"], strict=True):
        yield {**{key: whole[key] for key in ("label", "low", "high")}, **row, "within_noise": gap["within_noise"]}


def _describe(comparison: Figures) -> str:
    """Write how many differences between groups stand out from noise, and by how much the groups' means differ."""
    stand_out, compared = comparison["stand_out"], counted(comparison["compared"], "comparison")
    chance = max(round(comparison["compared"] / 10), 1)
    verb = "stands" if stand_out == 1 else "stand"
    sentences = [f"{stand_out} of {compared} {verb} out; by chance about {chance} would."]
    if comparison["verdict"]:
        sentences.append(f"All together: {comparison['verdict']}.")
    for gap in comparison["differences"]:
        mean = gap["mean"]
        if mean is None:
            continue
        if mean["within_noise"]:
            sentences.append(f"The means of {gap['label']} and {_other_group(gap)} show no difference.")
        else:
            size, more = WithError(abs(mean["value"]), reach(mean)), "higher" if mean["value"] > 0 else "lower"
            sentences.append(f"The mean of {gap['label']} is {size} {more} than that of {_other_group(gap)}.")
    return " ".join(sentences)


def _other_group(gap: Figures) -> str:
    """Return the name of the group that another one is compared with, or "the others" for all of them."""
    return "the others" if gap["against"] is None else str(gap["against"])


def _number_table(question: Figures, comparison: Figures) -> Html:
    """Make the HTML table of a question: a row for each answer, with every group's share and the groups' differences.
    """
    groups, differences = comparison["groups"], comparison["differences"]
    listed_labels = {row["label"] for row in shown_rows(question, LISTED_LABELS)}
    rows = [
        [
            whole["label"],
            *(percent(within_bounds(group["rows"][i]["value"])) for group in groups),
            *(_gap_text(gap["rows"][i]) for gap in differences),
        ]
        for i, whole in enumerate(question["rows"])
        if whole["label"] in listed_labels
    ]
    heads = [f"{gap['label']} less {_other_group(gap)}" for gap in differences]
    columns = ["answer", *(str(group["label"]) for group in groups), *heads]
    return table(rows, columns, description=f"{question['question']}: differences")


def _gap_text(row: Figures) -> Html | str:
    """Write how much a group's share of one answer differs from another group's, as text: "+2.1 ± 0.8", in points.

    What follows ± is half the 90 % bar; text within noise is wrapped in a grey HTML span.
    """
    text = f"{100 * row['value']:+.1f} ± {100 * reach(row):.1f}"
    return tag("span", text, class_="soft") if row["within_noise"] else text


# --- two questions together -------------------------------------------------------------------------------------------


def show_together(page: Page, plan: Plan, together: Mapping[str, Any] | None, with_form: bool) -> None:
    """Add a section about two questions together to a page: a table of the shares of their pairs of answers.

    ``together``: what `joint` returned; None: no pair was chosen. ``with_form``: add a form to choose two other
    questions, where a server reads it.
    """
    names = list(seen_together(plan))
    if len(names) < 2 or not (together or with_form):
        return
    chosen = list(together["questions"]) if together else names[:2]
    picks = [_choice_field("first", "down", names, chosen[0]), _choice_field("second", "across", names, chosen[1])]
    page.section("Two questions together", "How often each pair of answers goes together, among people who gave both.")
    if with_form:
        page.add(tag("form", *picks, tag("button", "Show"), method="get"))
    if together is not None:
        page.add(heat(together) if together["labels"] else None).paragraph(" ".join(together["messages"]), soft=True)


def _choice_field(key: str, words: str, names: Sequence[str], chosen: str) -> Html:
    """Make a form's HTML field to choose a question out of ``names``.

    ``key``: the field's name in the address; ``words``: its label; ``chosen``: the question that is selected.
    """
    options = [tag("option", name, value=name, selected="" if name == chosen else None) for name in names]
    return tag("label", words, tag("select", *options, name_=key))


def heat(together: Mapping[str, Any]) -> Html:
    """Draw the shares of all pairs of answers as an HTML table: the more people, the deeper a cell's colour.

    A share that cannot be told from zero has none. ``together``: what `joint` returned.
    """
    (first, second), (down, across) = together["questions"], together["labels"]
    top = max([1e-9, *(share for row in together["shares"] for share in row)])
    errors = together["stderr"] or [[None] * len(across)] * len(down)
    rows = [
        tag("tr", tag("th", label, scope="row"), *(_heat_cell(*pair, top) for pair in zip(shares, some, strict=True)))
        for label, shares, some in zip(down, together["shares"], errors, strict=True)
    ]
    corner = tag("th", f"{first} ↓ {second} →", scope="col")
    heads = tag("thead", tag("tr", corner, *(tag("th", label, scope="col") for label in across)))
    whole = tag("table", heads, tag("tbody", *rows), class_="heat")
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=f"{first} and {second}")


def _heat_cell(share: float, error: float | None, top: float) -> Html:
    """Make a cell (HTML) of the table of pairs, coloured by its share.

    ``error``: the share's standard error, None where it is not known; ``top``: the largest share of the table.
    """
    unsure = error is not None and share <= NINETY_PERCENT * error
    depth = 0 if unsure else min(int((HEATS + 1) * max(share, 0.0) / top), HEATS)
    bar = None if error is None else tag("small", f"± {100 * NINETY_PERCENT * error:.1f}")
    return tag("td", percent(share), bar, class_=f"h{depth}")
