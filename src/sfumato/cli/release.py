"""`sfumato release`: perturb a table of true records so that it may be handed on, and report what was kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import emit_json, note, say
from sfumato.cli.plans import PeopleFiles, ShowValues, SimulationSeed, read_answers, simulation_rng
from sfumato.domain import Categories, Interval
from sfumato.prose import json_text
from sfumato.tables import check_source, check_target, naming, to_arrow, write_table, write_text

if TYPE_CHECKING:
    from sfumato.microdata import Method, ReleaseReport, Treatment
    from sfumato.microdata.table.texts import Texts

EXAMPLES = """Examples:

  sfumato release people.csv --target class -o released.csv --report report.html

  sfumato release people.csv --target class -o released.csv --method gadp --set fresh=0.9 --keep sex

  sfumato release people.csv --target class -o released.csv --set fewest=20 --set leaves=8 --set gaps=keep

  sfumato release people.csv --target class -o released.csv --role name=identifier --role year=free --domain age=0:120

  sfumato release people.csv --target class -o released.csv --report public.html --public

  sfumato release people.csv --target class -o released.csv --report report.html --frontier

  sfumato release people.csv --target income -o released.csv --preserve rules=0.9 --rule "start <= end"

Options of a method: donors has attempts, fewest, labels, leaves; ib04 amount, attempts, labels, law, leaves, tested,
untested; gadp fresh, labels, leaves; swap window; every method gaps, order, outliers.

The exit code is 3 when what was to be preserved is not in the release; both files are written all the same."""

LOST = 3
"""The exit code when what was to be preserved is not in the release."""
LABELS = "labels"
"""What stands in --domain for a column whose numbers are labels."""

Target = Annotated[
    str | None, typer.Option(help="The column to be explained, classes or a number; left out: all columns alike.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The release: .csv or .parquet.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write the report: .html or .json.")]
Public = Annotated[bool, typer.Option("--public", help="Leave out of the report what would help an intruder.")]
Named = Annotated[
    str | None,
    typer.Option(
        "--method", show_default="donors, or ib04 for --preserve rules",
        help="donors (values from records alike), ib04 (noise in leaves), gadp (numbers together) or swap (ranks).",
    ),
]  # fmt: skip
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE",
        help="An option of the method, or gaps=keep, outliers=keep, order=keep; may be repeated.",
    ),
]  # fmt: skip
Preserved = Annotated[
    list[str] | None,
    typer.Option(
        "--preserve", show_default="both", metavar="WHAT[=LIMIT]",
        help="What must survive: rules, correlations or both; rules=0.8: the least share of records under kept rules, "
        "correlations=0.1: the largest change; may be repeated.",
    ),
]  # fmt: skip
Rules = Annotated[
    list[str] | None,
    typer.Option("--rule", help="'a -> b', 'a ~ b', 'a <= b' or 'not a=x, b=y'; may be repeated. Others are found."),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column that stays as it is; may be repeated.", metavar="COLUMN")
]
RolesGiven = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="COLUMN=ROLE",
        help="identifier (left out), quasi-identifier, sensitive, free (stays) or constant; or a .toml file with "
        "\\[roles] and column = \"role\"; may be repeated.",
    ),
]  # fmt: skip
Domain = Annotated[
    list[str] | None,
    typer.Option(
        help="What a column may hold, age=0:120 or size=S|M|L; zip=labels if it looks like numbers; may be repeated.",
        metavar="COLUMN=VALUES",
    ),
]
Frontier = Annotated[
    bool,
    typer.Option("--frontier", help="Show risk against utility of other releases, for the owner; takes minutes."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def release(
    people: PeopleFiles,
    output: Output,
    target: Target = None,
    report: Report = None,
    public: Public = False,
    method: Named = None,
    settings: Settings = None,
    preserve: Preserved = None,
    rule: Rules = None,
    keep: Keep = None,
    role: RolesGiven = None,
    domain: Domain = None,
    frontier: Frontier = False,
    as_json: AsJson = False,
    seed: SimulationSeed = None,
    show_values: ShowValues = False,
) -> None:
    """Perturb a table so that its patterns survive and its records do not; say what was kept and what is at risk."""
    from sfumato.microdata import PatternWarning, find_frontier, usual_methods
    from sfumato.microdata import release as release_table
    from sfumato.microdata.table.texts import Texts

    files, roles = parse_roles(role or ())
    check_target(output, apart=[*people, *files])
    if report is not None:
        check_target(report, (".html", ".json"), apart=[*people, *files, output])
    if frontier and (public or target is None):
        problem = "is for the owner; leave out --public" if public else "needs something to predict; name a --target"
        raise ValueError(f"--frontier {problem}")
    preserved = parse_preserve(preserve or ())
    release_method, treatment = _read_method(method, settings or (), preserved)
    labels = [name for name, _, values in (text.rpartition("=") for text in domain or ()) if values == LABELS]
    texts = Texts.read(read_answers(people, None, (), text=_texts(people)), labels)
    with naming(people), warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        domains = dict(parse_domain(text, texts.typed) for text in domain or ())
        options: dict[str, Any] = {
            "preserve": preserved, "rules": rule or (), "keep": keep or (), "roles": roles, "domains": domains,
            "treatment": treatment,
        }  # fmt: skip
        released = release_table(texts.typed, target, release_method, rng=simulation_rng(seed), **options)
        release_report = released.report
        if frontier:
            others = find_frontier(texts.typed, target, methods=usual_methods(release_method), **options)
            release_report = release_report.with_frontier(others)
    _write(texts, released.table, output)
    records, simulated = texts.typed.num_rows, seed is not None
    _write_report(release_report, records, output, report, public=public, as_json=as_json, simulated=simulated)
    if not released.preserved.reached:
        note(str(released.preserved))
        raise typer.Exit(LOST)



def _read_method(name: str | None, settings: Sequence[str], preserve: Any) -> tuple[Method, Treatment]:
    """Return the method of a release with its options, and how gaps and outliers are treated.

    ``name``: None for the usual method for what is to be preserved; ``settings``: texts name=value.
    """
    from sfumato.microdata import read_method
    from sfumato.microdata.releasing import method_for

    return read_method(method_for(preserve).name if name is None else name, settings)


def _write_report(
    release_report: ReleaseReport, records: int, output: Path, report: Path | None, *, public: bool, as_json: bool,
    simulated: bool,
) -> None:
    """Write the report on a release to the file ``report`` if it is wanted (not None), and print it.

    ``records``: how many were written to ``output``; ``public``: leave out what helps an intruder; ``simulated``: a
    seed made the noise.
    """
    data = release_report.to_dict(public=public)
    if report is not None:
        is_page = report.suffix.lower() == ".html"
        write_text(release_report.to_html(public=public) if is_page else json_text(data, indent=2), report)
    if simulated:
        note("this release is a simulation: whoever knows the seed can undo the noise")
    if as_json:
        emit_json(data)
    else:
        say(str(release_report))
        say(f"{records:,} records written to {output}" + (f", the report to {report}" if report else ""))


def parse_roles(texts: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    """Read the roles of columns (identifier, sensitive, …) from texts such as `income=sensitive` and from .toml files.

    Returns the files that are among the texts, and a dict of roles by column; a text wins over a file.
    """
    from sfumato.microdata.table.roles import load_roles

    files = [Path(text) for text in texts if text.endswith(".toml")]
    roles: dict[str, str] = {}
    for file in files:
        roles |= load_roles(check_source(file, "[roles] and a line a column"))
    for text in texts:
        name, sign, role = text.rpartition("=")
        if not text.endswith(".toml"):
            if not (name and sign and role):
                raise ValueError(f"--role {text!r} is not COLUMN=ROLE; write income=sensitive, or name a .toml file")
            roles[name] = role
    return files, roles


def parse_preserve(texts: Sequence[str]) -> str | dict[str, float] | None:
    """Read what a release is to preserve: `rules`, `correlations` or `both`, or a dict of limits such as `rules=0.9`.

    None: no text is given.
    """
    from sfumato.microdata.methods.method import LIMITS

    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    limits = {}
    for text in texts:
        name, sign, limit = text.partition("=")
        try:
            limits[name] = float(limit) if sign else LIMITS[name]
        except (KeyError, ValueError):
            raise ValueError(f"--preserve {text!r} is unknown; write both, rules=0.8 or correlations=0.1") from None
    return limits


def _write(texts: Texts, table: Any, output: Path) -> None:
    """Write a release to a file: to CSV in the form of the texts that were read, else as a table of typed columns.

    ``texts``: of the files that were released; ``table``: the release.
    """
    if output.suffix.lower() == ".csv":
        texts.write(to_arrow(table), output)
    else:
        write_table(table, output)


def parse_domain(text: str, table: Any) -> tuple[str, Interval | Categories]:
    """Return (column, domain of its values), read from a text such as age=0:120.

    `age=0:120`: numbers from low to high, whole ones if both ends are; `size=S|M|L`: these labels; `zip=labels`: the
    labels that the column of the table holds.
    """
    name, _, values = text.rpartition("=")
    low, colon, high = values.partition(":")
    if not name or not values:
        raise ValueError(f"--domain {text!r} is not COLUMN=VALUES; write age=0:120, size=S|M|L or zip={LABELS}")
    if values == LABELS:
        return name, labels_of(table, name)
    if not colon:
        return name, Categories(values.split("|"))
    try:
        return name, Interval(float(low), float(high), integer=all(end.lstrip("-").isdigit() for end in (low, high)))
    except ValueError as error:
        raise ValueError(f"--domain {text!r}: {error}") from None


def labels_of(table: Any, name: str) -> Categories:
    """Return the distinct values of a table's column, in order, as the `Categories` (labels) that it may hold.

    ``name``: the column; missing values are left out.
    """
    if name not in table.column_names:
        raise ValueError(f"--domain names {name!r}, which the table lacks; it has {', '.join(table.column_names)}")
    return Categories(sorted(table.column(name).drop_null().unique().to_pylist(), key=str) or ["missing"])


def _texts(people: Sequence[Path]) -> tuple[str, ...] | None:
    """Return which columns of the files are read as texts, so that they can be written back as they were.

    None, for all, if every file is CSV or standard input; else an empty tuple.
    """
    return None if all(".csv" in path.suffixes[-2:] or path == Path("-") for path in people) else ()
