"""`sfumato itemsets`: design the blur of baskets, apply it, and mine the reports.

In files, true baskets are a column ``basket``: in Parquet a list of items, in CSV the items with a separator between
them. Reports are the disclosed ``size`` and a column ``bitmap`` or ``seed``: bytes in Parquet, hexadecimal digits in
CSV. A collector exports them under the name of their question: ``basket.size``, ``basket.seed`` and, where people chose
among levels, ``basket.level``.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.cli import emit_json, note, say, say_written
from sfumato.cli.plans import (
    AsJson,
    Engine,
    PlanFile,
    ReportFiles,
    ShowValues,
    SimulationSeed,
    chosen_engine,
    files_argument,
    load_plan,
    read_answers,
    reports_in,
    simulation_rng,
    write_reports,
)
from sfumato.counts import Reports
from sfumato.domain import Items
from sfumato.plan import Plan
from sfumato.tables import TableSource, as_records, check_target, naming, write_table, write_text

BASKET = "basket"
"""The column of true baskets."""
SURE = 0.975
"""The certainty (the chance that the true support reaches --min-support) up to which an itemset is said to lie within
the noise: Φ(1.96), above which the 95 % interval of its support lies above --min-support."""
EXAMPLES = """Examples:

  sfumato itemsets design --items 1000 --sizes 5-10 --gamma 19 -o baskets.json

  sfumato itemsets randomize baskets.json people.csv -o reports.parquet --compress

  sfumato itemsets mine baskets.json reports.parquet --min-support 0.04 --rules 0.6"""

ItemsOption = Annotated[
    str, typer.Option("--items", help="How many items there are, or a text file with one label a line.")
]
Sizes = Annotated[str, typer.Option(help="Sizes of baskets, e.g. 5 or 5-10 or 3,5,8.")]
Gamma = Annotated[float | None, typer.Option(help="The largest factor by which a report may change the odds.")]
Rho1 = Annotated[float | None, typer.Option(help="With --rho2 instead of --gamma: a belief of this much ...")]
Rho2 = Annotated[float | None, typer.Option(help="... may never grow to this much.")]
UpTo = Annotated[int, typer.Option(help="Largest itemset to be mined.")]
Expected = Annotated[int, typer.Option(help="How many reports you expect.")]
Prevalence = Annotated[float, typer.Option(help="How often people have an item of an itemset that they do not have.")]
PlanOutput = Annotated[Path | None, typer.Option("--output", "-o", help="Write the plan: .json.")]
People = Annotated[list[Path], files_argument("BASKETS...", "Column 'basket'")]
ReportOutput = Annotated[Path, typer.Option("--output", "-o", help="The reports: .csv or .parquet.")]
Compress = Annotated[bool, typer.Option("--compress", help="Send seeds of a few bytes instead of bitmaps.")]
Separator = Annotated[str, typer.Option(help="Between the items of a basket in CSV; a space unless labels have some.")]
MinSupport = Annotated[float, typer.Option(help="Smallest share of people.", show_default=False)]
MaxLen = Annotated[int, typer.Option(help="Largest itemset.")]
Rules = Annotated[float | None, typer.Option(help="Also show rules of at least this confidence.")]
TableOutput = Annotated[Path | None, typer.Option("--output", "-o", help="Write the itemsets: .csv or .parquet.")]


itemsets = typer.Typer(
    help="Association rules from baskets that people blurred.", epilog=EXAMPLES, no_args_is_help=True
)


@itemsets.command()
def design(
    items: ItemsOption,
    sizes: Sizes,
    gamma: Gamma = None,
    rho1: Rho1 = None,
    rho2: Rho2 = None,
    up_to: UpTo = 3,
    reports: Expected = 1_000_000,
    prevalence: Prevalence = 0.1,
    output: PlanOutput = None,
    as_json: AsJson = False,
) -> None:
    """Choose how baskets are blurred under a bound on what a report reveals, and say what can then be found."""
    from sfumato.itemsets import compare_collections

    channel = SelectASize.design(
        read_items(items), read_sizes(sizes), gamma, up_to, breach=_breach(rho1, rho2), n=reports, prevalence=prevalence
    )
    spec = {"items": channel.items.size if items.isdigit() else list(channel.items.labels), **channel.to_spec()}
    plan = Plan.from_dict({"name": "baskets", "attributes": {"basket": spec}})
    if output is not None:
        write_text(plan.to_json(), check_target(output, (".json",)))
    supports = channel.lowest_discoverable_support(reports, prevalence=prevalence)
    rivals = as_records(compare_collections(channel, reports, prevalence=prevalence))
    if as_json:
        emit_json(
            {"plan": plan.to_dict(), "discoverable": supports, "seed_bits": channel.seed_bits, "compared": rivals}
        )
        return
    say(str(channel.guarantee()))
    say(f"\nWith {reports:,} reports the rarest itemsets that can be told from noise:")
    for k, support in supports.items():
        say(f"  {k} items: {support:.2%}")
    bits = channel.seed_bits
    say(f"A report is {channel.items.size:,} bits, or as a seed {min(bits.values())} to {max(bits.values())} bits.")
    for row in rivals:
        if row["better"] != "select-a-size":
            say(f"For {row['items']} items, asking in phases would reach {row['padding and sampling']:.2%}.")
    say_written(output)


@itemsets.command()
def randomize(
    plan: PlanFile,
    people: People,
    output: ReportOutput,
    compress: Compress = False,
    seed: SimulationSeed = None,
    separator: Separator = " ",
    show_values: ShowValues = False,
) -> None:
    """Blur baskets as the plan says. The randomness is cryptographic unless a seed is given."""
    loaded, channel = basket_channel(plan)
    if channel.has_levels:
        raise ValueError(f"{plan}: people choose among levels; randomize the baskets of each with a plan of its own")
    check_target(output, apart=[plan, *people])
    with naming(people):
        baskets = read_baskets(people, channel, separator)
        reports = channel.randomize(baskets, rng=simulation_rng(seed), compress=compress)
    write_reports(report_table(reports, channel), loaded, output)
    if seed is not None:
        note("these reports are a simulation: whoever knows the seed can undo the noise")
    say(f"{len(reports):,} reports written to {output}")


@itemsets.command()
def mine(
    plan: PlanFile,
    reports: ReportFiles,
    min_support: MinSupport,
    max_len: MaxLen = 3,
    rules: Rules = None,
    output: TableOutput = None,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Find the itemsets that many people hold, with standard errors, and rules among them."""
    from sfumato.itemsets import mine as mine_baskets

    loaded, channel = basket_channel(plan)
    if output is not None:
        check_target(output, apart=[plan, *reports])
    with naming(reports):
        collected = read_reports(reports, loaded, chosen_engine(reports, engine))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mined = mine_baskets(collected, channel, min_support, max_len, rules)
    for warning in caught:
        note(str(warning.message))
    if output is not None:
        write_table(itemset_table(mined["itemsets"]), output)
    if as_json:
        emit_json(mined)
        return
    _say(mined["itemsets"], mined["rules"], min_support)


def _say(itemsets: list[dict[str, Any]], rules: list[dict[str, Any]], min_support: float) -> None:
    """Print itemsets with their support (share of people) and rules with their confidence, with standard errors."""
    say(f"{len(itemsets)} itemsets reach {min_support:.2%} of the people")
    for row in itemsets:
        doubt = "" if row["certainty"] > SURE else "  within the noise"
        say(f"  {row['support']:7.2%} ± {row['stderr']:.2%}  {', '.join(map(str, row['itemsets']))}{doubt}")
    for rule in sorted(rules, key=lambda rule: -rule["confidence"]):
        sides = " → ".join(", ".join(map(str, rule[side])) for side in ("antecedents", "consequents"))
        say(f"  {rule['confidence']:7.2%} ± {rule['confidence stderr']:.2%}  {sides}")


def itemset_table(rows: list[dict[str, Any]]) -> Any:
    """Return itemsets as a PyArrow table: the items in one text, support (share of people), error, certainty."""
    import pyarrow as pa

    return pa.table(
        {
            "itemset": [" ".join(map(str, row["itemsets"])) for row in rows],
            **{name: [row[name] for row in rows] for name in ("support", "stderr", "certainty")},
        }
    )


def basket_channel(plan: Path) -> tuple[Plan, Any]:
    """Read the plan in a file; return it with the channel of its basket.

    ValueError: it asks for no basket, or several.
    """
    loaded = load_plan(plan)
    channels = [each.channel for each in loaded.attributes.values() if each.channel and isinstance(each.domain, Items)]
    if len(channels) != 1:
        raise ValueError(
            f"{plan}: {len(channels)} attributes are baskets; a plan for itemsets has one, see itemsets design"
        )
    return loaded, channels[0]


def _breach(rho1: float | None, rho2: float | None) -> tuple[float, float] | None:
    """Return the options (ρ1, ρ2), a belief and what it may not reach, if both are given; None if neither is.

    ValueError: only one is given.
    """
    if rho1 is not None and rho2 is not None:
        return rho1, rho2
    if rho1 is not rho2:
        raise ValueError("of --rho1 and --rho2 one is given; give both, or --gamma")
    return None


def read_sizes(text: str) -> list[int]:
    """Read the sizes of baskets from a text such as '5', '5-10' or '3,5,8'."""
    sizes: list[int] = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        if not low.isdigit() or not (high or low).isdigit() or int(high or low) < int(low):
            raise ValueError(f"--sizes {text} is unclear; write 5 or 5-10 or 3,5,8")
        sizes += range(int(low), int(high or low) + 1)
    return sizes


def read_items(text: str) -> Items:
    """Read the items of baskets from the text of --items: a number of items, or a file with one label a line."""
    if text.isdigit():
        return Items(int(text))
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"--items {text} is neither a number nor a file; give 1000 or a file with one label a line")
    return Items([line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()])


def read_baskets(files: list[Path], channel: SelectASize, separator: str) -> Baskets:
    """Read people's true baskets from the column "basket" of files. ``separator``: stands between items in CSV."""
    import pyarrow as pa

    column = read_answers(files, None, [BASKET], text=[BASKET], reports=False)[BASKET]
    if not pa.types.is_string(column.type):
        return channel.read(column)
    rows = [_split(text, separator, isinstance(channel.items.labels, range)) for text in column.to_pylist()]
    return channel.read(rows)


def _split(text: str | None, separator: str, numbered: bool) -> list[Any]:
    """Return the list of items in the text of one basket, empty for None; as numbers if items are ``numbered``."""
    parts = [part.strip() for part in (text or "").split(separator) if part.strip()]
    return [int(part) if numbered and part.isdigit() else part for part in parts]


def report_table(reports: BasketReports, channel: SelectASize) -> Any:
    """Return reports of baskets as a PyArrow table: their sizes, and their seeds or bitmaps as bytes."""
    import pyarrow as pa

    rows = reports.to_bytes(max(channel.seed_bits.values()) if reports.compressed else channel.items.size)
    name = "seed" if reports.compressed else "bitmap"
    return pa.table({"size": reports.sizes, name: rows})


def read_reports(files: list[Path], plan: Plan, engine: str | None) -> Reports:
    """Read reports of baskets from files: into memory, or (with the name of an engine) to be counted where they are."""
    if engine is not None:
        return reports_in(files, plan, engine, target=False)
    return Reports(TableSource(read_answers(files, plan, (), reports=True)), plan, target=False)
