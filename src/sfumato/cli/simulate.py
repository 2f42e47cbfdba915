"""`sfumato simulate`: send the reports of many simulated people to a running survey over HTTP."""

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
    simulation_rng,
)
from sfumato.domain import Items
from sfumato.plan import Plan
from sfumato.tables import Files, check_source, read_columns

AT_ONCE = 10_000
"""How many people are blurred and sent between two steps of the progress bar. Judgement: more takes more memory, fewer
wait more often for the last batch of a step."""
DEFAULT_PEOPLE = 1_000
"""How many people answer unless --people or --answers says it. Judgement: enough for a first picture in a second."""
NOT_ALL = 1
"""The exit code when not every report was accepted."""
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
        number, parts = _blur_files(loaded, answers, people, seed)
        whose = f"with the answers of {Files(answers)}"
    else:
        number = people or DEFAULT_PEOPLE
        parts, whose = _draw(loaded, number, seed)
    codes = None if invitations is None else _read_codes(invitations, number)
    ids = None if seed is None else np.random.default_rng([seed, 0x6964])  # the letters "id" in ASCII
    for _ in progress(range(0, number, AT_ONCE), "sending"):
        if not crowd.outcome.problem:
            crowd.send(next(parts), rng=ids, invitations=codes)
    outcome = crowd.outcome
    outcome.unanswered = number - outcome.accepted - outcome.refused.total()
    if as_json:
        emit_json({"people": number, "whose": whose, **vars(outcome), "rate": outcome.rate})
    else:
        say(f"{number:,} people, {whose}\n{outcome}")
    if outcome.accepted < number:
        raise typer.Exit(NOT_ALL)


ReportParts = Iterator[dict[str, Any]]
"""Reports of so many people at a time as ``AT_ONCE`` says, by column."""


def _blur_files(plan: Plan, files: list[Path], people: int | None, seed: int | None) -> tuple[int, ReportParts]:
    """Blur the true answers of the first ``people`` in files, or of all (None); return (their number, their reports).

    Reports are an iterator over parts. All are blurred before the first is sent, so that a bad answer is found before
    anything has happened.
    """
    from sfumato.collector.simulate import reports_of

    table = read_answers(files, plan, plan.columns, reports=False)
    if people is not None and people > table.num_rows:
        difference = f"holds {table.num_rows:,} people, not {people:,}"
        raise ValueError(f"{Files(files)}: {difference}; leave --people out to take all")
    table = table.slice(0, people)
    baskets = [name for name, each in plan.attributes.items() if isinstance(each.domain, Items)]
    columns = {**read_columns(table.drop_columns(baskets)), **{name: table.column(name) for name in baskets}}
    with naming_rows(files, plan, table, reports=False):
        reports = reports_of(plan, columns, simulation_rng(seed))
    slices = (
        {name: column[start : start + AT_ONCE] for name, column in reports.items()}
        for start in range(0, table.num_rows, AT_ONCE)
    )
    return table.num_rows, slices


def _draw(plan: Plan, number: int, seed: int | None) -> tuple[ReportParts, str]:
    """Draw ``number`` people at random and blur their answers; return (their reports, how they are drawn in words).

    Reports are an iterator over parts.
    """
    from sfumato.collector.simulate import draw_people, equal_levels, reports_of
    from sfumato.demo import credit

    rng, noise, levels = np.random.default_rng(seed), simulation_rng(seed), equal_levels(plan)
    is_credit = plan.identity == credit.plan().identity

    def draw_parts() -> ReportParts:
        for start in range(0, number, AT_ONCE):
            count = min(AT_ONCE, number - start)
            people = credit.people(count, rng) if is_credit else draw_people(plan, count, rng)
            yield reports_of(plan, people, noise, levels)

    if is_credit:
        return draw_parts(), "drawn as the credit example draws them"
    return draw_parts(), "drawn at random: any answer that the plan allows is as likely as any other"


def _read_codes(path: Path, number: int) -> Iterator[str]:
    """Read the codes of single-use invitations from a file of links or of codes; return an iterator over them.

    ValueError: there are fewer than ``number``.
    """
    lines = check_source(path).read_text(encoding="utf-8").splitlines()
    codes = [line.strip().rpartition("invitation=")[2] for line in lines[1:] if line.strip()]
    if len(codes) < number:
        raise ValueError(f"{path}: holds {len(codes):,} invitations for {number:,} people; each person needs one")
    return iter(codes)
