"""`sfumato simulate`: many respondents answer a running survey over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.cli import emit_json, progress, say
from sfumato.cli.plans import (
    AsJson,
    PlanFile,
    ShowValues,
    files_option,
    load_plan,
    naming_rows,
    read_answers,
    simulation,
)
from sfumato.domain import Items
from sfumato.plan import Plan
from sfumato.tables import Files, check_source, read_columns

AT_ONCE, DEFAULT_PEOPLE = 10_000, 1_000
NOT_ALL = 1
EXAMPLES = """Examples:

  sfumato simulate plan.toml http://127.0.0.1:8000/town --people 100000

  sfumato simulate plan.toml http://127.0.0.1:8000/town --answers people.parquet --invitations invitations.csv"""

Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="The survey's address: http://127.0.0.1:8000/town", show_default=False)
]
People = Annotated[int | None, typer.Option(min=1, help="How many.  \\[default: 1,000, or all of --answers]")]
AnswerFiles = Annotated[list[Path] | None, files_option("True answers, else they are drawn at random", "--answers")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="The same people, noise and ids again; sent twice, they count once.")
]
Batch = Annotated[int, typer.Option(min=1, help="Reports in one request.")]
Connections = Annotated[int, typer.Option(min=1, max=256, help="Requests at the same time.")]
Invitations = Annotated[Path | None, typer.Option(help="Links of `sfumato survey invite`: one for each person.")]


def simulate(
    plan: PlanFile,
    address: Address,
    people: People = None,
    answers: AnswerFiles = None,
    seed: Seed = None,
    batch: Batch = 500,
    connections: Connections = 4,
    invitations: Invitations = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Send what many people's devices would send: true answers, blurred here, in batches, until each is settled."""
    from sfumato.collector.simulate import Crowd

    loaded = load_plan(plan)
    crowd = Crowd(loaded, address, batch=batch, connections=connections)
    if answers is not None:
        number, some = _from_files(loaded, answers, people, seed)
        whose = f"with the answers of {Files(answers)}"
    else:
        number = people or DEFAULT_PEOPLE
        some, whose = _drawn(loaded, number, seed)
    codes = None if invitations is None else _codes(invitations, number)
    ids = None if seed is None else np.random.default_rng([seed, 0x6964])
    for _ in progress(range(0, number, AT_ONCE), "sending"):
        if not crowd.outcome.problem:
            crowd.send(next(some), rng=ids, invitations=codes)
    outcome = crowd.outcome
    outcome.unanswered = number - outcome.accepted - outcome.refused.total()
    if as_json:
        emit_json({"people": number, "whose": whose, **vars(outcome), "rate": outcome.rate})
    else:
        say(f"{number:,} people, {whose}\n{outcome}")
    if outcome.accepted < number:
        raise typer.Exit(NOT_ALL)


Some = Iterator[dict[str, Any]]
"""Reports of the next people, column by column."""


def _from_files(plan: Plan, files: list[Path], people: int | None, seed: int | None) -> tuple[int, Some]:
    """All of them are blurred before the first is sent: a bad answer is found while nothing has happened."""
    from sfumato.collector.simulate import reports_of

    table = read_answers(files, plan, plan.columns, reports=False)
    if people is not None and people > table.num_rows:
        held = f"{Files(files)}: holds {table.num_rows:,} people, not {people:,}"
        raise ValueError(f"{held}; leave --people out to take all")
    table = table.slice(0, people)
    baskets = [name for name, each in plan.attributes.items() if isinstance(each.domain, Items)]
    columns = {**read_columns(table.drop_columns(baskets)), **{name: table.column(name) for name in baskets}}
    with naming_rows(files, plan, table, reports=False):
        reports = reports_of(plan, columns, simulation(seed))
    slices = (
        {name: column[start : start + AT_ONCE] for name, column in reports.items()}
        for start in range(0, table.num_rows, AT_ONCE)
    )
    return table.num_rows, slices


def _drawn(plan: Plan, number: int, seed: int | None) -> tuple[Some, str]:
    from sfumato.collector.simulate import draw_people, equal_levels, reports_of
    from sfumato.demo import credit

    rng, noise, levels = np.random.default_rng(seed), simulation(seed), equal_levels(plan)
    is_credit = plan.identity == credit.plan().identity

    def some() -> Some:
        for start in range(0, number, AT_ONCE):
            count = min(AT_ONCE, number - start)
            people = credit.people(count, rng) if is_credit else draw_people(plan, count, rng)
            yield reports_of(plan, people, noise, levels)

    if is_credit:
        return some(), "drawn as the credit example draws them"
    return some(), "drawn at random: any answer that the plan allows is as likely as any other"


def _codes(path: Path, number: int) -> Iterator[str]:
    """The codes in a file of links, or in one of bare codes."""
    lines = check_source(path).read_text(encoding="utf-8").splitlines()
    codes = [line.strip().rpartition("invitation=")[2] for line in lines[1:] if line.strip()]
    if len(codes) < number:
        raise ValueError(f"{path}: holds {len(codes):,} invitations for {number:,} people; each person needs one")
    return iter(codes)
