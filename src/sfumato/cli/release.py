"""`sfumato release`: a table of true records becomes one that may be handed on, with a report on what was kept."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import emit_json, note, say
from sfumato.cli.plans import PeopleFiles, ShowValues, SimulationSeed, naming, read_answers, simulation
from sfumato.prose import json_text
from sfumato.tables import check_target, write_table, write_text

EXAMPLES = """Examples:

  sfumato release people.csv --target class -o released.csv --report report.html

  sfumato release people.csv --target class -o released.csv --method gadp --amount 0.9 --keep sex

  sfumato release people.csv --target class -o released.csv --report public.html --public

  sfumato release people.csv --target income -o released.csv --preserve rules --rule "start <= end"

The exit code is 3 when what was to be preserved is not in the release; both files are written all the same."""

LOST = 3
Target = Annotated[
    str | None, typer.Option(help="The column to be explained, classes or a number; left out: all columns alike.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The release: .csv or .parquet.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write the report: .html or .json.")]
Public = Annotated[bool, typer.Option("--public", help="Leave out of the report what would help an intruder.")]
Method = Annotated[str, typer.Option(help="leafwise, gadp; to compare with: sadp, correlated, gadp-table, swap.")]
Amount = Annotated[float | None, typer.Option(help="How much noise; each method has its own unit and default.")]
Preserve = Annotated[
    str | None, typer.Option(help="What must survive: rules, correlations or both.", show_default="both")
]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rule", help="'a -> b', 'a ~ b', 'a <= b' or 'not a=x, b=y'; may be repeated. Others are found."),
]
LeastRules = Annotated[float, typer.Option(help="The share of records that kept rules must cover.")]
MostChange = Annotated[float, typer.Option(help="The largest change of an association that is allowed.")]
Noise = Annotated[
    str | None,
    typer.Option(help="donors (from records alike), rank (each column alone) or additive (the paper's law)."),
]
Labels = Annotated[str, typer.Option(help="How classes move inside leaves: rpt, ppt, alpt or none.")]
Keep = Annotated[list[str] | None, typer.Option(help="A column that stays as it is; may be repeated.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def release(
    people: PeopleFiles,
    output: Output,
    target: Target = None,
    report: Report = None,
    public: Public = False,
    method: Method = "leafwise",
    amount: Amount = None,
    preserve: Preserve = None,
    rule: Rules = None,
    least_rules: LeastRules = 0.8,
    most_change: MostChange = 0.1,
    noise: Noise = None,
    labels: Labels = "rpt",
    keep: Keep = None,
    as_json: AsJson = False,
    seed: SimulationSeed = None,
    show_values: ShowValues = False,
) -> None:
    """Perturb a table so that its patterns survive and its records do not; say what was kept and what is at risk."""
    from sfumato.microdata import PatternWarning
    from sfumato.microdata import release as release_table

    check_target(output, apart=people)
    if report is not None:
        check_target(report, (".html", ".json"), apart=[*people, output])
    table, rng = read_answers(people, None, ()), simulation(seed)
    with naming(people), warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        done = release_table(
            table, target, method, amount=amount, noise=noise, labels=labels, keep=keep or (), preserve=preserve,
            rules=rule or (), least_rules=least_rules, most_change=most_change, rng=rng,
        )
    write_table(done.table, output)
    shown = done.report.to_dict(public=public)
    if report is not None:
        page = report.suffix.lower() == ".html"
        write_text(done.report.to_html(public=public) if page else json_text(shown, indent=2), report)
    if seed is not None:
        note("this release is a simulation: whoever knows the seed can undo the noise")
    if as_json:
        emit_json(shown)
    else:
        say(str(done.report))
        say(f"{table.num_rows:,} records written to {output}" + (f", the report to {report}" if report else ""))
    if not done.preserved.reached:
        note(str(done.preserved))
        raise typer.Exit(LOST)
