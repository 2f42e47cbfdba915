"""The page about synthetic records: how far each attribute and each pair lies from what the reports say."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.cli.page import Page, numbers, quote, table
from sfumato.plan import Plan
from sfumato.shipping.shipped import promise_of


def synthesis_page(plan: Plan, found: dict[str, Any]) -> str:
    subtitle = f"{found['records']:,} synthetic records from {found['reports']:,} reports, and how close they are."
    page = Page(f"Synthetic records: {plan.name}", subtitle)
    page.add(numbers(_headline(found)))
    lead = "Distance: the share of synthetic records that would have to move to agree with the reconstruction."
    rows = [
        [escape(row["attribute"]), percent(row["distance"]), percent(row["by_chance"])] for row in found["attributes"]
    ]
    page.section("Attributes", lead, table(["attribute", "distance", "by chance alone"], rows))
    if found["pairs"]:
        page.section(
            "Pairs", _pair_lead(found), table(["pair", "distance", "if drawn independently"], _pair_rows(found))
        )
    lead = "The records are computed from the reports alone, so what the reports promise holds for them too."
    page.section("What they reveal", lead, quote(promise_of(plan)["words"]))
    return page.html()


def _headline(found: dict[str, Any]) -> list[tuple[str, str]]:
    boxes = []
    for key, what in (("attributes", "attribute"), ("pairs", "pair")):
        if found[key]:
            worst = max(found[key], key=lambda row: row["distance"])
            name = worst["attribute"] if what == "attribute" else " × ".join(worst["pair"])
            boxes.append((percent(worst["distance"]), f"largest distance of a single {what} ({name})"))
    return boxes


def _pair_lead(found: dict[str, Any]) -> str:
    left = found["left_out_of_pairs"]
    without = f" {', '.join(left)}: people chose their level, so pairs are not reconstructed." if left else ""
    return f"The farthest first; beside it, how far records without any dependence between the two would lie.{without}"


def _pair_rows(found: dict[str, Any]) -> list[list[str]]:
    ordered = sorted(found["pairs"], key=lambda row: -row["distance"])
    return [[escape(" × ".join(r["pair"])), percent(r["distance"]), percent(r["if_independent"])] for r in ordered]


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"
