"""`sfumato audit`: attack a plan, check its implementation, and write the statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.plans import AsJson, PlanFile, asked, load_plan, naming, read_answers
from sfumato.cli.terminal import emit_json, say
from sfumato.domain import Categories, Items, as_array
from sfumato.plan import Plan
from sfumato.privacy import Audit
from sfumato.privacy import audit as audit_plan
from sfumato.prose import suggest
from sfumato.tables import check_target, write_text

FAILED = 1
PROGRAM_COLUMNS = ["attribute", "true", "reported"]
EXAMPLES = """Examples:

  sfumato audit plan.toml

  sfumato audit plan.toml --reports reports.parquet --target "5% to 50%" --target "age: 20 at 95%"

  sfumato audit plan.toml --truth people.csv --html review.html --respondent statement.html

The exit code is 1 when the implementation breaks its statement or a target is missed."""

Reports = Annotated[Path | None, typer.Option(help="Reports, to attack what they show: .csv or .parquet.")]
Truth = Annotated[Path | None, typer.Option(help="True values, for a rehearsal: .csv or .parquet.")]
Targets = Annotated[list[str] | None, typer.Option("--target", "-t", help="What to achieve; may be repeated.")]
Times = Annotated[int, typer.Option(min=1, help="How often each person answers with fresh noise.")]
Program = Annotated[
    Path | None, typer.Option(help="Reports of another program: columns attribute, true, reported (.csv or .parquet).")
]
Html = Annotated[Path | None, typer.Option(help="Write the reviewer's page (works offline).")]
Respondent = Annotated[Path | None, typer.Option(help="Write the respondent's page (works offline).")]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(audit)


def audit(
    plan: PlanFile,
    reports: Reports = None,
    truth: Truth = None,
    target: Targets = None,
    times: Times = 1,
    program: Program = None,
    html: Html = None,
    respondent: Respondent = None,
    as_json: AsJson = False,
) -> None:
    """Attack the plan and check, by exact tests on its own reports, that the implementation keeps to its statement."""
    loaded = load_plan(plan)
    pages = [(path, reader) for path, reader in ((html, "reviewer"), (respondent, "respondent")) if path is not None]
    for path, _ in pages:
        check_target(path, (".html",))
    tables = people_tables(loaded, reports, truth)
    drawn = None if program is None else program_reports(loaded, program)
    with naming(reports or truth or plan):
        told = audit_plan(loaded, **tables, targets=target or [], times=times, implementation=drawn)
    for path, reader in pages:
        write_text(told.to_html(reader), path)
    _tell(told, [path for path, _ in pages], as_json)
    if not told.passed:
        raise typer.Exit(FAILED)


def people_tables(plan: Plan, reports: Path | None, truth: Path | None) -> dict[str, Any]:
    """The tables that were named, checked for the plan's columns."""
    if reports is not None and truth is not None:
        raise ValueError("--reports and --truth are both given; give one of the two")
    found: dict[str, Any] = {}
    wanted = [name for name, each in plan.attributes.items() if not isinstance(each.domain, Items)]
    for name, path in (("reports", reports), ("truth", truth)):
        if path is not None:
            found[name] = read_answers(path, plan, wanted)
    return found


def program_reports(plan: Plan, path: Path) -> dict[str, dict[Any, Any]]:
    """{attribute: {true value: reports}} of another program's table."""
    table = read_answers(path, None, PROGRAM_COLUMNS, text=PROGRAM_COLUMNS)
    names, true, reported = (as_array(table.column(name)) for name in PROGRAM_COLUMNS)
    found: dict[str, dict[Any, Any]] = {}
    for name in dict.fromkeys(names.tolist()):
        if name not in plan.attributes or plan.attributes[name].channel is None:
            raise ValueError(f"{path}: attribute {name!r} has no channel in the plan{suggest(str(name), asked(plan))}")
        read = _reader(plan.attributes[name].domain)
        own = names == name
        with naming(path):
            values = {text: read(text) for text in dict.fromkeys(true[own].tolist())}
            found[name] = {
                value: [read(text) for text in reported[own & (true == key)]] for key, value in values.items()
            }
    return found


def _reader(domain: Any) -> Any:
    """Text back to the values it was written from."""
    labels = {str(label): label for label in domain.labels} if isinstance(domain, Categories) else None
    return float if labels is None else lambda text: labels.get(text, text)


def _tell(told: Audit, pages: list[Path], as_json: bool) -> None:
    if as_json:
        emit_json(told.to_dict())
        return
    say(str(told))
    for path in pages:
        say(f"\nwritten to {path}")
