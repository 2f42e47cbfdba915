"""`sfumato audit`: attack a plan, check its implementation, and write pages for its reviewer and its respondents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, say
from sfumato.cli.plans import AsJson, PlanFile, ShowValues, blurred_channels, files_option, load_plan, read_answers
from sfumato.domain import Categories, Items, as_array
from sfumato.plan import Plan
from sfumato.privacy import Audit
from sfumato.privacy import audit as audit_plan
from sfumato.privacy.audit import SAMPLES
from sfumato.prose import suggest
from sfumato.tables import check_target, naming, write_text

FAILED = 1
"""The exit code when the implementation breaks its statement or a target is missed."""
TABLES = (".csv", ".parquet")
"""The endings by which a file of reports is told from a command line."""
PROGRAM_COLUMNS = ["attribute", "true", "reported"]
"""The columns of a file of another program's reports."""
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
class AuditOutput:
    """The options that say where an audit is written: pages, or JSON on standard output."""

    html: Html = None
    respondent: Respondent = None
    as_json: AsJson = False

    @property
    def wanted(self) -> list[tuple[Path, str]]:
        """(path, reader) of the pages that the options ask for, a list; the reader is "reviewer" or "respondent"."""
        both = ((self.html, "reviewer"), (self.respondent, "respondent"))
        return [(path, reader) for path, reader in both if path is not None]

    def check(self, inputs: list[Path | None]) -> None:
        """Raise a ValueError if a page would be written over a file that is read, or over the other page."""
        for index, (path, _) in enumerate(self.wanted):
            check_target(path, (".html",), apart=[*inputs, *(other for other, _ in self.wanted[:index])])

    def write(self, audited: Audit) -> None:
        """Write the pages that the options ask for, and print the audit."""
        for path, reader in self.wanted:
            write_text(audited.to_html(reader), path)
        if self.as_json:
            emit_json(audited.to_dict())
            return
        say(str(audited))
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
    results: AuditOutput,
    show_values: ShowValues = False,
) -> None:
    """Attack the plan and check, by exact tests on its own reports, that the implementation keeps to its statement."""
    loaded = load_plan(plan)
    program_file = None if program is None else reports_file(program)
    results.check([plan, *(reports or []), *(truth or []), program_file])
    tables = people_tables(loaded, reports, truth)
    implementation = program if program_file is None else program_reports(loaded, program_file)
    with naming(reports or truth or plan):
        audited = audit_plan(
            loaded, **tables, targets=target or [], implementation=implementation, times=times, samples=samples
        )
    results.write(audited)
    if not audited.passed:
        raise typer.Exit(FAILED)


def people_tables(plan: Plan, reports: list[Path] | None, truth: list[Path] | None) -> dict[str, Any]:
    """Read the files of reports or of true values that options name; return a dict of the table.

    Its key is "reports" or "truth", as `audit` and `advise` take them; it is empty where neither is named.
    """
    if reports is not None and truth is not None:
        raise ValueError("--reports and --truth are both given; give one of the two")
    tables: dict[str, Any] = {}
    columns = [name for name, each in plan.attributes.items() if not isinstance(each.domain, Items)]
    for name, path in (("reports", reports), ("truth", truth)):
        if path is not None:
            tables[name] = read_answers(path, plan, columns, reports=name == "reports")
    return tables


def reports_file(program: str) -> Path | None:
    """Return the file of reports that --program names; None if it is a command line."""
    path = Path(program)
    return path if path.suffix.lower() in TABLES and path.exists() else None


def program_reports(plan: Plan, path: Path) -> dict[str, dict[Any, Any]]:
    """Read the file of another program's reports, a table, as {attribute: {true value: list of reports}}."""
    table = read_answers(path, None, PROGRAM_COLUMNS, text=PROGRAM_COLUMNS)
    names, true, reported = (as_array(table.column(name)) for name in PROGRAM_COLUMNS)
    reports: dict[str, dict[Any, Any]] = {}
    for name in dict.fromkeys(names.tolist()):
        if name not in plan.attributes or plan.attributes[name].channel is None:
            similar = suggest(str(name), blurred_channels(plan))
            raise ValueError(f"{path}: attribute {name!r} has no channel in the plan{similar}")
        read = _reader_of(plan.attributes[name].domain)
        rows = names == name
        with naming(path):
            values = {text: read(text) for text in dict.fromkeys(true[rows].tolist())}
            reports[name] = {
                value: [read(text) for text in reported[rows & (true == key)]] for key, value in values.items()
            }
    return reports


def _reader_of(domain: Any) -> Any:
    """Return a function from a text in a file to the value of the domain that is written so.

    Numbers are read as floats; a text that is no label is returned as it is.
    """
    labels = {str(label): label for label in domain.labels} if isinstance(domain, Categories) else None
    return float if labels is None else lambda text: labels.get(text, text)
