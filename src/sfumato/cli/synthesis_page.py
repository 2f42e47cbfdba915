"""The page about synthetic records: how far each attribute and each pair lies from what the reports say."""

from __future__ import annotations

from typing import Any

from sfumato.pages import Page
from sfumato.plan import Plan
from sfumato.prose import percent
from sfumato.shipping.shipped import promise_of


def synthesis_page(plan: Plan, found: dict[str, Any]) -> str:
    lead = f"{found['records']:,} synthetic records from {found['reports']:,} reports, and how close they are."
    page = Page(f"Synthetic records: {plan.name}", lead).facts(_headline(found))
    page.section(
        "Attributes",
        "Distance: the share of synthetic records that would have to move to agree with the reconstruction.",
    )
    rows = [[r["attribute"], percent(r["distance"], 2), percent(r["by_chance"], 2)] for r in found["attributes"]]
    page.table(rows, ["attribute", "distance", "by chance alone"])
    if found["pairs"]:
        page.section("Pairs", _pair_lead(found))
        page.table(_pair_rows(found), ["pair", "distance", "if drawn independently"])
    lead = "The records are computed from the reports alone, so what the reports promise holds for them too."
    return page.section("What they reveal", lead).note(promise_of(plan)["words"]).html()


def _headline(found: dict[str, Any]) -> list[tuple[str, str]]:
    boxes = []
    for key, what in (("attributes", "attribute"), ("pairs", "pair")):
        if found[key]:
            worst = max(found[key], key=lambda row: row["distance"])
            name = worst["attribute"] if what == "attribute" else " × ".join(worst["pair"])
            boxes.append((percent(worst["distance"], 2), f"largest distance of a single {what} ({name})"))
    return boxes


def _pair_lead(found: dict[str, Any]) -> str:
    left = found["left_out_of_pairs"]
    without = f" {', '.join(left)}: people chose their level, so pairs are not reconstructed." if left else ""
    return f"The farthest first; beside it, how far records without any dependence between the two would lie.{without}"


def _pair_rows(found: dict[str, Any]) -> list[list[str]]:
    ordered = sorted(found["pairs"], key=lambda row: -row["distance"])
    return [[" × ".join(r["pair"]), percent(r["distance"], 2), percent(r["if_independent"], 2)] for r in ordered]
