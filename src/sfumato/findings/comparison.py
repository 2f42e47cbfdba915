"""Groups of people side by side, and two questions together: parts of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.findings.analysis import seen_together
from sfumato.pages import Card, Html, Page, folded, table, tag
from sfumato.pages.charts import NINETY_PERCENT, compared_numbers, compared_shares, within_bounds
from sfumato.plan import Plan
from sfumato.prose import counted, listed, percent
from sfumato.reconstruction.estimate import WithError

SHOWN_LABELS, LISTED_LABELS = 12, 100
HEATS = 8

Figures = Mapping[str, Any]


def shown_rows(each: Figures, most: int = SHOWN_LABELS) -> list[Figures]:
    """Return the rows to show: all ranges of numbers, and of many categories or items the largest."""
    rows = list(each["rows"])
    if len(rows) <= most or each["kind"] == "numbers":
        return rows
    return sorted(rows, key=lambda row: -row["value"])[:most]


def reach(row: Figures) -> float:
    """Return half of a 90 % bar."""
    return float(NINETY_PERCENT * row["stderr"])


# --- groups -----------------------------------------------------------------------------------------------------------


def show_groups(page: Page, questions: Mapping[str, Figures], view: str, title: str, lead: str) -> None:
    """Show a section with a card a question; none where there are no groups."""
    compared = [each for each in questions.values() if each[view]]
    if not compared:
        return
    labels = dict.fromkeys(group["label"] for each in compared for group in each[view]["groups"])
    colours = {f"g{number}": label for number, label in enumerate(labels)}
    page.section(title, lead).legend({**colours, "unseen": "no difference shown"})
    page.cards(_comparison(each, each[view], list(labels)) for each in compared)


def _comparison(each: Figures, found: Figures, labels: Sequence[Any]) -> Card:
    groups = found["groups"]
    if len(groups) < 2:
        only = f"Only {groups[0]['label']} can be seen" if groups else "No group can be seen"
        return Card(each["question"], note=f"{only}; there is nothing to compare.")
    shown = {row["label"] for row in shown_rows(each)}
    series = []
    for group in groups:
        rows = [row for row in _grouped(each, group, found) if row["label"] in shown]
        series.append((labels.index(group["label"]), str(group["label"]), rows))
    if each["kind"] == "numbers":
        names = listed(name for _, name, _ in series)
        chart = compared_numbers(series, f"{each['question']}: {names} compared")
    else:
        chart = compared_shares(series)
    return Card(each["question"], "", chart, _in_words(found), folded("The numbers", _numbers(each, found)))


def _grouped(each: Figures, group: Figures, found: Figures) -> Iterator[dict[str, Any]]:
    """Yield a group's rows; within noise where the group does not differ from the others."""
    own = next((one for one in found["differences"] if one["label"] == group["label"]), found["differences"][0])
    for whole, row, gap in zip(each["rows"], group["rows"], own["rows"], strict=True):
        yield {**{key: whole[key] for key in ("label", "low", "high")}, **row, "within_noise": gap["within_noise"]}


def _in_words(found: Figures) -> str:
    stand_out, compared = found["stand_out"], counted(found["compared"], "comparison")
    chance = max(round(found["compared"] / 10), 1)
    verb = "stands" if stand_out == 1 else "stand"
    sentences = [f"{stand_out} of {compared} {verb} out; by chance about {chance} would."]
    if found["verdict"]:
        sentences.append(f"All together: {found['verdict']}.")
    for gap in found["differences"]:
        mean = gap["mean"]
        if mean is None:
            continue
        if mean["within_noise"]:
            sentences.append(f"The means of {gap['label']} and {_others(gap)} show no difference.")
        else:
            size, more = WithError(abs(mean["value"]), reach(mean)), "higher" if mean["value"] > 0 else "lower"
            sentences.append(f"The mean of {gap['label']} is {size} {more} than that of {_others(gap)}.")
    return " ".join(sentences)


def _others(gap: Figures) -> str:
    return "the others" if gap["against"] is None else str(gap["against"])


def _numbers(each: Figures, found: Figures) -> Html:
    listed_labels = {row["label"] for row in shown_rows(each, LISTED_LABELS)}
    rows = [
        [
            whole["label"],
            *(percent(within_bounds(group["rows"][i]["value"])) for group in found["groups"]),
            *(_gap(gap["rows"][i]) for gap in found["differences"]),
        ]
        for i, whole in enumerate(each["rows"])
        if whole["label"] in listed_labels
    ]
    heads = [f"{gap['label']} less {_others(gap)}" for gap in found["differences"]]
    columns = ["answer", *(str(group["label"]) for group in found["groups"]), *heads]
    return table(rows, columns, description=f"{each['question']}: differences")


def _gap(row: Figures) -> Html | str:
    text = f"{100 * row['value']:+.1f} ± {100 * reach(row):.1f}"
    return tag("span", text, class_="soft") if row["within_noise"] else text


# --- two questions together -------------------------------------------------------------------------------------------


def show_together(page: Page, plan: Plan, together: Mapping[str, Any] | None, with_form: bool) -> None:
    """Show what `joint` gave of two questions and, where a server reads it, a form to choose two others."""
    names = list(seen_together(plan))
    if len(names) < 2 or not (together or with_form):
        return
    chosen = list(together["questions"]) if together else names[:2]
    picks = [_pick("first", "down", names, chosen[0]), _pick("second", "across", names, chosen[1])]
    page.section("Two questions together", "How often each pair of answers goes together, among people who gave both.")
    if with_form:
        page.add(tag("form", *picks, tag("button", "Show"), method="get"))
    if together is not None:
        page.add(heat(together) if together["labels"] else None).paragraph(" ".join(together["messages"]), soft=True)


def _pick(key: str, words: str, names: Sequence[str], chosen: str) -> Html:
    options = [tag("option", name, value=name, selected="" if name == chosen else None) for name in names]
    return tag("label", words, tag("select", *options, name_=key))


def heat(together: Mapping[str, Any]) -> Html:
    """Draw two questions as a table, the more people the deeper the colour; none where a share is within noise."""
    (first, second), (down, across) = together["questions"], together["labels"]
    top = max([1e-9, *(share for row in together["shares"] for share in row)])
    errors = together["stderr"] or [[None] * len(across)] * len(down)
    rows = [
        tag("tr", tag("th", label, scope="row"), *(_warm(*pair, top) for pair in zip(shares, some, strict=True)))
        for label, shares, some in zip(down, together["shares"], errors, strict=True)
    ]
    corner = tag("th", f"{first} ↓ {second} →", scope="col")
    heads = tag("thead", tag("tr", corner, *(tag("th", label, scope="col") for label in across)))
    whole = tag("table", heads, tag("tbody", *rows), class_="heat")
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=f"{first} and {second}")


def _warm(share: float, error: float | None, top: float) -> Html:
    unsure = error is not None and share <= NINETY_PERCENT * error
    depth = 0 if unsure else min(int((HEATS + 1) * max(share, 0.0) / top), HEATS)
    bar = None if error is None else tag("small", f"± {100 * NINETY_PERCENT * error:.1f}")
    return tag("td", percent(share), bar, class_=f"h{depth}")
