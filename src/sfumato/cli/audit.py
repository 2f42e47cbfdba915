"""`sfumato audit`: attack a plan, check its implementation, and write the statements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, say
from sfumato.cli.plans import AsJson, PlanFile, ShowValues, asked, files_option, load_plan, naming, read_answers
from sfumato.domain import Categories, Items, as_array
from sfumato.plan import Plan
from sfumato.privacy import Audit
from sfumato.privacy import audit as audit_plan
from sfumato.privacy.audit import SAMPLES
from sfumato.prose import suggest
from sfumato.tables import check_target, write_text

FAILED = 1
TABLES = (".csv", ".parquet")
PROGRAM_COLUMNS = ["attribute", "true", "reported"]
EXAMPLES = """Examples:

  sfumato audit plan.toml

  sfumato audit plan.toml --reports reports.parquet --target "5% to 50%" --target "age: 20 at 95%"

  sfumato audit plan.toml --truth people.csv --html review.html --respondent statement.html

  sfumato audit plan.toml --program javascript

  sfumato audit plan.toml --program "node drive.mjs" --samples 250000000

The exit code is 1 when the implementation breaks its statement or a target is missed."""

Reports = Annotated[list[Path] | None, files_option("Reports, to attack what they show")]
Truth = Annotated[list[Path] | None, files_option("True values, for a rehearsal")]
Targets = Annotated[list[str] | None, typer.Option("--target", "-t", help="What to achieve; may be repeated.")]
Times = Annotated[int, typer.Option(min=1, help="How often each person answers with fresh noise.")]
Program = Annotated[
    str | None,
    typer.Option(
        help="Another program in place of sfumato's own: its command line (it reads and writes lines of JSON; "
        "'javascript' is the client that is shipped), or a file of its reports with the columns attribute, true, "
        "reported (.csv or .parquet). What it leaves out is said not to be audited.",
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        min=1000,
        help="Reports drawn of each attribute. The audit says how small a fault it could have seen; ten times as many "
        "find one a third as large.",
    ),
]
Html = Annotated[Path | None, typer.Option(help="Write the reviewer's page (works offline).")]
Respondent = Annotated[Path | None, typer.Option(help="Write the respondent's page (works offline).")]


@dataclass(frozen=True)
class Pages:
    """Where the audit is told."""

    html: Html = None
    respondent: Respondent = None
    as_json: AsJson = False

    @property
    def wanted(self) -> list[tuple[Path, str]]:
        """The pages that are wanted, and who reads each."""
        both = ((self.html, "reviewer"), (self.respondent, "respondent"))
        return [(path, reader) for path, reader in both if path is not None]

    def check(self, given: list[Path | None]) -> None:
        """Refuse to write over what is read, and one page over the other."""
        for place, (path, _) in enumerate(self.wanted):
            check_target(path, (".html",), apart=[*given, *(other for other, _ in self.wanted[:place])])

    def deliver(self, told: Audit) -> None:
        for path, reader in self.wanted:
            write_text(told.to_html(reader), path)
        if self.as_json:
            emit_json(told.to_dict())
            return
        say(str(told))
        for path, _ in self.wanted:
            say(f"\nwritten to {path}")


def audit(
    plan: PlanFile,
    reports: Reports = None,
    truth: Truth = None,
    target: Targets = None,
    times: Times = 1,
    program: Program = None,
    samples: Samples = SAMPLES,
    *,
    pages: Pages,
    show_values: ShowValues = False,
) -> None:
    """Attack the plan and check, by exact tests on its own reports, that the implementation keeps to its statement."""
    loaded = load_plan(plan)
    shown = None if program is None else reports_file(program)
    pages.check([plan, *(reports or []), *(truth or []), shown])
    tables = people_tables(loaded, reports, truth)
    implementation = program if shown is None else program_reports(loaded, shown)
    with naming(reports or truth or plan):
        told = audit_plan(
            loaded, **tables, targets=target or [], implementation=implementation, times=times, samples=samples
        )
    pages.deliver(told)
    if not told.passed:
        raise typer.Exit(FAILED)


def people_tables(plan: Plan, reports: list[Path] | None, truth: list[Path] | None) -> dict[str, Any]:
    """The tables that were named, checked for the plan's columns."""
    if reports is not None and truth is not None:
        raise ValueError("--reports and --truth are both given; give one of the two")
    found: dict[str, Any] = {}
    wanted = [name for name, each in plan.attributes.items() if not isinstance(each.domain, Items)]
    for name, path in (("reports", reports), ("truth", truth)):
        if path is not None:
            found[name] = read_answers(path, plan, wanted, reports=name == "reports")
    return found


def reports_file(program: str) -> Path | None:
    """The file of reports that is meant; None: a command line."""
    path = Path(program)
    return path if path.suffix.lower() in TABLES and path.exists() else None


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
