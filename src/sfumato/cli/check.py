"""`sfumato check`: validate a plan, and say what its reports can reveal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import console, emit_json, say, say_written
from sfumato.cli.plans import AsJson, PlanFile, blurred_channels, files_option, load_plan, read_answers
from sfumato.guarantee import CombinedGuarantee
from sfumato.guarantee.page import page_of
from sfumato.plan import Plan
from sfumato.plan.budget import variance_by_questions_each
from sfumato.prose import in_words, percent
from sfumato.tables import check_target

EXAMPLES = """Examples:

  sfumato check plan.toml

  sfumato check plan.toml --page what-happens.html       [dim]a page for the people who are asked[/dim]"""

Truth = Annotated[
    list[Path] | None, files_option("True records, which say what clear answers tell about blurred ones")
]
PageOutput = Annotated[Path | None, typer.Option("--page", help="Write the page for respondents: .html.")]


def check(plan: PlanFile, truth: Truth = None, page: PageOutput = None, as_json: AsJson = False) -> None:
    """Validate a plan and say in words what each answer can reveal, and all of them together."""
    loaded = load_plan(plan)
    true_records = None if truth is None else read_answers(truth, loaded, loaded.columns)
    total = loaded.guarantee(truth=true_records)
    if page is not None:
        check_target(page, (".html",))
        page_of(loaded.headings, total).write(page)
    if as_json:
        emit_json(_as_data(loaded, total))
        return
    _say(loaded, total)
    say_written(page)


def _as_data(plan: Plan, total: CombinedGuarantee) -> dict[str, Any]:
    """Return the plan's attributes, budget (the bound for all answers together) and guarantees as a dict for JSON."""
    attributes = {
        name: {
            "role": attribute.role,
            "domain": str(attribute.domain),
            "channel": None if attribute.channel is None else attribute.channel.to_spec(),
            "guarantee": None if attribute.channel is None else total.parts[name].to_dict(),
        }
        for name, attribute in plan.attributes.items()
    }
    budget = {}
    if plan.budget is not None:
        variances = variance_by_questions_each(plan.attributes, plan.budget)
        budget = {"budget": {"gamma": plan.budget, "shares": plan.shares, "variance_by_questions_each": variances}}
    return {"plan": plan.name, **budget, "attributes": attributes, "total": total.to_dict()}


def _advice_on_questions_each(plan: Plan, variances: dict[int, float]) -> str:
    """Return a sentence on whether each person should answer fewer questions, so that each can be blurred less.

    ``variances``: the variance of estimates by the number of questions that each person answers, under the plan's
    bound.
    """
    count, present = len(variances), plan.questions_each or len(variances)
    best = min(variances, key=lambda number: (variances[number], number != present))
    now = "all" if present == count else f"{present} of the {count}"
    if best == present:
        return f"Each person answers {now} questions; no other number gives estimates less variance under this bound."
    change = "without questions_each" if best == count else f"with questions_each = {best}"
    ratio = percent(variances[best] / variances[present])
    return f"Each person answers {now} questions; {change} estimates have {ratio} of the variance."


def _say(plan: Plan, total: CombinedGuarantee) -> None:
    """Print the privacy guarantee of every attribute of a plan, and of all answers of a person together."""
    from rich.markup import escape

    screen = console()
    count = f"{len(plan.attributes)} attributes, {len(blurred_channels(plan))} of them randomized"
    screen.print(f"[bold]{escape(plan.name)}[/bold]: {count}")
    if plan.budget is not None:
        say(f"All answers together keep γ = {in_words(plan.budget, 6, up=True)}; their shares of ln γ:")
        for name, share in plan.shares.items():
            say(f"  {name}: {percent(share)} (γ = {in_words(total.parts[name].gamma, 6, up=True)})")
        if variances := variance_by_questions_each(plan.attributes, plan.budget):
            say(_advice_on_questions_each(plan, variances))
    for name, attribute in plan.attributes.items():
        channel = attribute.channel
        how = "in the clear" if channel is None else channel.kind
        screen.print(f"\n[bold]{escape(name)}[/bold] ({attribute.domain}, {how})")
        if channel is None:
            say(total.voice("sent.clear"))
        elif channel.has_levels:
            for level in channel.levels:
                say(f"{level!r}: {channel.guarantee(level, language=plan.language)}")
        else:
            say(str(total.parts[name]))
    screen.print("\n[bold]All answers of one person together[/bold]")
    say(str(total))

