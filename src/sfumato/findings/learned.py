"""The parts of the page about models: a decision tree with its rules, and itemsets with theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sfumato.pages import Html, Page, tag
from sfumato.pages.charts import NINETY_PERCENT, share_bars
from sfumato.pages.html import safe
from sfumato.prose import listed, percent

SHOWN_RULES = 8
"""The most rules of a tree that are listed, the most common first; the whole tree follows below. By judgement."""
SHOWN_ITEMSETS = 20
"""The most itemsets, and the most rules, that are shown: about a screen. By judgement."""
OPEN_DEPTH = 2
"""The depth down to which a tree is unfolded when the page opens. By judgement: four questions are read at a glance."""
CERTAIN = 0.95
"""The certainty that an itemset reaches the wanted support from which on it is not grey: 90 % bars, too, leave a
twentieth on one side."""


def show_model(page: Page, model: Mapping[str, Any]) -> None:
    """Add a section about a shipped model to a page: its measured accuracy and, of a decision tree, its rules.

    ``model``: the content of the model's JSON file. Rules are in the plan's language.
    """
    from sfumato.shipping.training import measured_in_words

    page.section("The model", "Learned from the reports; it goes to people's devices and classifies them there.")
    if model["measured"]:
        page.items(measured_in_words(dict(model["measured"])))
    device = model["device"]
    if device["form"] != "tree":
        page.paragraph(f"It is a {model['kind']}, which has no rules to read.")
        return
    tree = ShippedTree(device["nodes"], device["classes"])
    language = (model["plan"] or {}).get("language", "en")
    rules = tag("ul", *(tag("li", rule) for rule in tree.rules()[:SHOWN_RULES]), lang=language)
    page.add(tag("h3", "The rules that most people fall under"), rules)
    whole = tag("ul", *tree.answers(0, 0), class_="tree", lang=language)
    page.add(tag("h3", "The whole tree"), tag("div", whole, class_="card"))


class ShippedTree:
    """A decision tree from a shipped model's file, to be written as HTML: as a nested list and as rules.

    ``nodes``: the tree's nodes as dicts, the root first; ``classes``: the labels that it predicts.
    """

    def __init__(self, nodes: Sequence[Mapping[str, Any]], classes: Sequence[Any]) -> None:
        self.nodes, self.classes = nodes, classes
        self.total = sum(sum(node.get("counts", ())) for node in nodes) or 1.0

    def decided(self, leaf: int) -> Html:
        """Write the class of a leaf, how sure it is, and the share of people who end there, as HTML.

        ``leaf``: its index.
        """
        counts = self.nodes[leaf]["counts"]
        size, best = sum(counts), max(range(len(counts)), key=counts.__getitem__)
        sure = f"{percent(counts[best] / size, 0)} of the {percent(size / self.total)} of people here"
        return tag("span", tag("b", self.classes[best]), " ", tag("small", sure), class_="leaf")

    def sides(self, node: int) -> Iterator[tuple[str, int]]:
        """Return an iterator over the two ways on from a node: (condition in words, the child's index), left first."""
        here = self.nodes[node]
        return zip(here["said"][:2], (here["left"], here["right"]), strict=True)

    def answers(self, node: int, depth: int) -> list[Html]:
        """Write the subtree below a node as HTML list entries: one for each outcome of its condition, others within it.

        ``node``: its index; ``depth``: its depth in the tree, below OPEN_DEPTH entries are folded.
        """
        if "counts" in self.nodes[node]:
            return [tag("li", self.decided(node))]
        entries = []
        for said, child in self.sides(node):
            if "counts" in self.nodes[child]:
                entries.append(tag("li", said, " → ", self.decided(child)))
                continue
            below = tag("ul", *self.answers(child, depth + 1))
            opened = "" if depth + 1 < OPEN_DEPTH else None
            entries.append(tag("li", tag("details", tag("summary", said), below, open=opened)))
        return entries

    def rules(self) -> list[Html]:
        """Write a rule (HTML: conditions → class) for each leaf, those that most people fall under first.

        Of two conditions on one column the later one is written, because it includes the earlier one.
        """
        weighed: list[tuple[float, Html]] = []

        def walk(node: int, conditions: Mapping[int, str]) -> None:
            here = self.nodes[node]
            if "counts" in here:
                words = listed(conditions.values()) or "Everybody"
                weighed.append((sum(here["counts"]), safe(words, " → ", self.decided(node))))
                return
            for said, child in self.sides(node):
                walk(child, {**conditions, here["column"]: said})

        walk(0, {})
        return [rule for _, rule in sorted(weighed, key=lambda pair: -pair[0])]


def show_itemsets(page: Page, mined: Mapping[str, Any]) -> None:
    """Add a section with frequent itemsets and association rules to a page.

    ``mined``: a dict with ``itemsets`` and ``rules``, as `sfumato itemsets mine --json` writes it.
    """
    lead = "Sets of items that many people hold, recovered from blurred baskets; grey where noise may have lifted them."
    page.section("What goes together", lead)
    itemsets = sorted(mined["itemsets"], key=lambda row: -row["support"])[:SHOWN_ITEMSETS]
    if not itemsets:
        page.paragraph("No itemset reaches the support that was asked for.")
        return
    page.add(tag("div", share_bars([_itemset_row(row) for row in itemsets]), class_="card"))
    rules = sorted(mined.get("rules") or [], key=lambda rule: -rule["confidence"])[:SHOWN_ITEMSETS]
    if rules:
        page.add(tag("h3", "Rules")).table(map(_rule_row, rules), ["rule", "confidence", "lift"])


def _itemset_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an itemset as a dict for a bar chart: label, support and its 90 % bar.

    It is within noise where it is not certain (CERTAIN) that the itemset reaches the wanted support.
    """
    support, reach = row["support"], NINETY_PERCENT * row["stderr"]
    bar = {"value": support, "stderr": row["stderr"], "from": max(support - reach, 0.0), "to": support + reach}
    return {"label": _join_items(row["itemsets"]), **bar, "within_noise": row.get("certainty", 1.0) < CERTAIN}


def _rule_row(rule: Mapping[str, Any]) -> list[str]:
    """Return an association rule as the texts of a table's row: its sides, its confidence ± half a 90 % bar, its lift.
    """
    sides = f"{_join_items(rule['antecedents'])} → {_join_items(rule['consequents'])}"
    sure = f"{percent(rule['confidence'])} ± {100 * NINETY_PERCENT * rule['confidence stderr']:.1f}"
    return [sides, sure, f"{rule['lift']:.2f}"]


def _join_items(items: Iterable[Any]) -> str:
    """Write items side by side, with commas between them."""
    return ", ".join(map(str, items))
