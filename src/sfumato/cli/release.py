"""`sfumato release`: a table of true records becomes one that may be handed on, with a report on what was kept."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import emit_json, note, say
from sfumato.cli.plans import PeopleFiles, ShowValues, SimulationSeed, naming, read_answers, simulation
from sfumato.domain import Categories, Interval
from sfumato.prose import json_text
from sfumato.tables import check_source, check_target, to_arrow, write_table, write_text

if TYPE_CHECKING:
    from sfumato.microdata.table.texts import Texts

EXAMPLES = """Examples:

  sfumato release people.csv --target class -o released.csv --report report.html

  sfumato release people.csv --target class -o released.csv --method gadp --amount 0.9 --keep sex

  sfumato release people.csv --target class -o released.csv --identifier name --free year --domain age=0:120

  sfumato release people.csv --target class -o released.csv --report public.html --public

  sfumato release people.csv --target class -o released.csv --report report.html --frontier

  sfumato release people.csv --target income -o released.csv --preserve rules --rule "start <= end"

The exit code is 3 when what was to be preserved is not in the release; both files are written all the same."""

LOST = 3
Names = list[str] | None


def column(what: str) -> Any:
    """An option that names a column and may be repeated."""
    return typer.Option(help=f"{what}; may be repeated.", metavar="COLUMN")


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
Keep = Annotated[Names, column("A column that stays as it is")]
Roles = Annotated[Path | None, typer.Option(help="Roles: a .toml file with \\[roles] and column = \"role\".")]
Identifier = Annotated[Names, column("A column that names people and is left out")]
Quasi = Annotated[Names, typer.Option("--quasi-identifier", help="A column that others may know.", metavar="COLUMN")]
Sensitive = Annotated[Names, column("A column that nobody should learn of a person")]
Free = Annotated[Names, column("A column that does no harm and stays as it is")]
Category = Annotated[Names, column("A column of labels, even if they look like numbers")]
Domain = Annotated[
    list[str] | None,
    typer.Option(help="What a column may hold, age=0:120 or size=S|M|L; may be repeated.", metavar="COLUMN=VALUES"),
]
Attempts = Annotated[int | None, typer.Option(min=0, help="How often to look whether the patterns are still found.")]
LeafSize = Annotated[int | None, typer.Option(min=1, help="Fewest records in a leaf of the tree.")]
Leaves = Annotated[int | None, typer.Option(min=2, help="Most leaves of the tree.")]
Depth = Annotated[int | None, typer.Option(min=1, help="Most tests on a path of the tree.")]
Gaps = Annotated[str, typer.Option(help="deal missing values anew inside leaves, or keep them where they are.")]
Outliers = Annotated[str, typer.Option(help="replace extreme values and rare labels, or keep them.")]
Order = Annotated[str, typer.Option(help="shuffle the rows, or keep their order.")]
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
    method: Method = "leafwise",
    amount: Amount = None,
    preserve: Preserve = None,
    rule: Rules = None,
    least_rules: LeastRules = 0.8,
    most_change: MostChange = 0.1,
    noise: Noise = None,
    labels: Labels = "rpt",
    keep: Keep = None,
    roles: Roles = None,
    identifier: Identifier = None,
    quasi_identifier: Quasi = None,
    sensitive: Sensitive = None,
    free: Free = None,
    category: Category = None,
    domain: Domain = None,
    attempts: Attempts = None,
    leaf_size: LeafSize = None,
    leaves: Leaves = None,
    depth: Depth = None,
    gaps: Gaps = "deal",
    outliers: Outliers = "replace",
    order: Order = "shuffle",
    frontier: Frontier = False,
    as_json: AsJson = False,
    seed: SimulationSeed = None,
    show_values: ShowValues = False,
) -> None:
    """Perturb a table so that its patterns survive and its records do not; say what was kept and what is at risk."""
    from sfumato.microdata import PatternWarning, find_frontier
    from sfumato.microdata import release as release_table
    from sfumato.microdata.judged.frontier import DRAWN
    from sfumato.microdata.table.texts import Texts

    check_target(output, apart=[*people, roles])
    if report is not None:
        check_target(report, (".html", ".json"), apart=[*people, output, roles])
    if frontier and (public or target is None):
        mend = "is for the owner; leave out --public" if public else "needs something to predict; name a --target"
        raise ValueError(f"--frontier {mend}")
    named = {"identifier": identifier, "quasi-identifier": quasi_identifier, "sensitive": sensitive, "free": free}
    wanted = _roles(roles, named)
    tree = {"min_samples_leaf": leaf_size, "max_leaf_nodes": leaves, "max_depth": depth}
    grown = {name: value for name, value in tree.items() if value is not None}
    texts = Texts.read(read_answers(people, None, (), text=_texts(people)), category or ())
    with naming(people), warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        domains: dict[str, Interval | Categories] = {name: labels_of(texts.typed, name) for name in category or ()}
        domains |= dict(map(parse_domain, domain or ()))
        options: dict[str, Any] = {
            "noise": noise, "labels": labels, "tree": grown or None, "domains": domains, "keep": keep or (),
            "attempts": attempts, "roles": wanted, "gaps": gaps, "outliers": outliers, "order": order,
            "preserve": preserve, "rules": rule or (), "least_rules": least_rules, "most_change": most_change,
        }  # fmt: skip
        done = release_table(texts.typed, target, method, amount=amount, rng=simulation(seed), **options)
        told = done.report
        if frontier:
            told = told.with_frontier(find_frontier(texts.typed, target, methods=DRAWN, **options))
        shown = told.to_dict(public=public)
    _write(texts, done.table, output)
    if report is not None:
        page = report.suffix.lower() == ".html"
        write_text(told.to_html(public=public) if page else json_text(shown, indent=2), report)
    if seed is not None:
        note("this release is a simulation: whoever knows the seed can undo the noise")
    if as_json:
        emit_json(shown)
    else:
        say(str(told))
        written = f"{texts.typed.num_rows:,} records written to {output}"
        say(written + (f", the report to {report}" if report else ""))
    if not done.preserved.reached:
        note(str(done.preserved))
        raise typer.Exit(LOST)


def _roles(path: Path | None, named: Mapping[str, list[str] | None]) -> dict[str, str]:
    """Those of the file, and those of the options in their place."""
    from sfumato.microdata.table.roles import load_roles

    found = {} if path is None else load_roles(check_source(path, "[roles] and a line a column"))
    return found | {name: role for role, names in named.items() for name in names or ()}


def _write(texts: Texts, table: Any, output: Path) -> None:
    """CSV as the texts that came, anything else as a table of its kind."""
    if output.suffix.lower() == ".csv":
        texts.write(to_arrow(table), output)
    else:
        write_table(table, output)


def parse_domain(text: str) -> tuple[str, Interval | Categories]:
    """`age=0:120`, numbers from low to high (whole ones, if both are); `size=S|M|L`, labels."""
    name, _, values = text.rpartition("=")
    low, colon, high = values.partition(":")
    if not name or not values:
        raise ValueError(f"--domain {text!r} is not COLUMN=VALUES; write age=0:120 or size=S|M|L")
    if not colon:
        return name, Categories(values.split("|"))
    try:
        return name, Interval(float(low), float(high), integer=all(end.lstrip("-").isdigit() for end in (low, high)))
    except ValueError as error:
        raise ValueError(f"--domain {text!r}: {error}") from None


def labels_of(table: Any, name: str) -> Categories:
    """What a column holds, as labels."""
    if name not in table.column_names:
        raise ValueError(f"--category names {name!r}, which the table lacks; it has {', '.join(table.column_names)}")
    return Categories(sorted(table.column(name).drop_null().unique().to_pylist(), key=str) or ["missing"])


def _texts(people: Sequence[Path]) -> tuple[str, ...] | None:
    """None, all columns as texts, where every file is CSV (standard input says itself what it is)."""
    return None if all(".csv" in path.suffixes[-2:] or path == Path("-") for path in people) else ()
