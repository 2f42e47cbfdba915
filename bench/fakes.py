"""What made-up reports do to the credit survey: as the dashboard states it, as it is when measured, and what shows."""

from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench, main

import sfumato as sf
from sfumato.demo import credit
from sfumato.findings import estimates
from sfumato.findings.fakes import FAKES, table_and_inverse
from sfumato.findings.means import linear_estimator
from sfumato.reconstruction.misfit import FALSE_ALARM

PEOPLE = 20_000


def told(plan: sf.Plan, table: Any, name: str, codes: Any = None) -> dict[str, Any]:
    """What is told of one question, with other codes where given."""
    column = f"{name}.code"
    changed = table if codes is None else table.set_column(table.column_names.index(column), column, pa.array(codes))
    return estimates(changed, plan, name)["questions"][name]


def values(each: dict[str, Any]) -> Any:
    """What fakes are said to move: the shares, or the mean."""
    return np.array([each["mean"]["value"]] if each["mean"] else [row["value"] for row in each["rows"]])


def worst(channel: Any, counts: sf.Counts, each: dict[str, Any]) -> tuple[int, Any]:
    """The code and the answer that move the estimate most."""
    now = values(each)
    if each["mean"]:
        ends = [float(channel.domain.low), float(channel.domain.high)]
        return int(np.abs(linear_estimator(channel) - now[0]).argmax()), max(ends, key=lambda end: abs(end - now[0]))
    undo = table_and_inverse(counts)[1]
    return int(np.abs(undo - now[:, None]).max(axis=0).argmax()), each["rows"][int(now.argmin())]["category"]


def measure(bench: Bench) -> None:
    plan, rng = credit.plan(), np.random.default_rng(bench.seed)
    reports = plan.randomize(pa.table(credit.people(PEOPLE, rng)), rng=rng)
    table = pa.table({**sf.Reports(reports, plan).to_codes(), "group": reports["group"]})
    heads = {f"{way}: {head}": form for way in ("made up", "lies") for head, form in
             (("stated", ".1f"), ("measured", ".1f"), ("shows", "s"))}  # fmt: skip
    bench.table(f"{PEOPLE:,} people; shares in points, means in % of the range", heads)
    for share in FAKES[:1] if bench.quick else FAKES:
        for name, counts in plan.counts(table).items():
            channel, honest = plan.attributes[name].channel, told(plan, table, name)
            unit = channel.domain.width if honest["mean"] else 1.0
            stated = next(each for each in honest["fakes"]["moved"] if each["share"] == share)
            code, answer = worst(channel, counts, honest)
            rows = rng.choice(PEOPLE, round(share * PEOPLE), replace=False)
            lied = channel.randomize(np.array([answer] * rows.size, dtype=object), rng)
            lies = sf.Reports({name: lied}, {name: channel}).column(name).codes
            cells: list[float | str] = []
            for way, fakes in (("made_up", code), ("lies", lies)):
                codes = table[f"{name}.code"].to_numpy().copy()
                codes[rows] = fakes
                found = told(plan, table, name, codes)
                moved = np.abs(values(found) - values(honest)).max()
                shows = "yes" if found["heaps"] or found["fit"] < FALSE_ALARM else "no"
                cells += [100 * stated[way] / unit, 100 * moved / unit, shows]
            bench.row(f"{share:.0%} fakes, {name}", *cells)


if __name__ == "__main__":
    main(measure, seed=5)
