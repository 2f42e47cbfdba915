"""The release report as one page that needs no network, no script and no other file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sfumato.microdata.drawing import intervals, paired_bars, share_bars

if TYPE_CHECKING:
    from sfumato.microdata.report import ReleaseReport

MOST_ROWS = 40
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><style>
body {{ margin: 0 auto; max-width: 60rem; padding: 1.5rem; color: #2c2622; background: #fbf8f4;
  font: 16px/1.55 system-ui, sans-serif; }}
h1, h2 {{ font-family: Georgia, serif; }} h2 {{ margin-top: 2.4rem; }} .soft {{ color: #6e645c; }}
svg {{ max-width: 100%; height: auto; background: #fff; border: 1px solid #e6ddd3; border-radius: .6rem;
  padding: .6rem; }}
details {{ margin: .6rem 0; }} summary {{ cursor: pointer; font-weight: 600; }} li {{ margin: .15rem 0; }}
</style></head><body><h1>{title}</h1>{body}</body></html>
"""


def page_of(report: ReleaseReport, *, public: bool) -> str:
    kind = "for those who receive the data" if public else "for the owner; do not hand this page on"
    records = f"{report.records:,} records, {len(report.attributes)} attributes, method {report.method}"
    parts = [f'<p class="soft">{escape(records)}. {escape(kind.capitalize())}.</p>']
    parts += [_patterns(report, public), _statistics(report, public), _risk(report, public)]
    if not public:
        parts.append(_owner(report))
    return PAGE.format(title="Release report", body="\n".join(parts))


def _patterns(report: ReleaseReport, public: bool) -> str:
    rows = [(one.classifier, one.original, one.released) for one in report.accuracy]
    pictures = paired_bars(rows, low=0.0) if rows else ""
    legend = "Upper bar: trained on the original; lower bar: on the release; both tested on original records."
    note = "The pattern tree has seen all records, those tested here too."
    text = _after_heading(report.patterns_in_words()) + pictures + _paragraph(f"{legend} {note}", soft=True)
    if report.rules is not None:
        shares = {"rules kept": report.rules.share_kept, "records under kept rules": report.rules.share_covered}
        text += share_bars(shares)
        if not public:
            text += _unfold("Rules kept", [str(rule) for rule in report.rules.kept])
            text += _unfold("Rules lost", [str(rule) for rule in report.rules.lost])
    return f"<h2>Patterns</h2>{text}"


def _statistics(report: ReleaseReport, public: bool) -> str:
    worst = sorted(report.biases, key=lambda bias: -abs(bias.bias) / max(bias.allowed, 1e-9))
    shown = [bias for bias in worst if bias.type in "ABC"][:MOST_ROWS]
    rows = [(f"{bias.type}: {bias.what}"[:34], bias.bias, bias.allowed) for bias in shown]
    legend = "Grey: what chance alone explains in 99 % of releases without bias. A dot outside is a bias."
    picture = intervals(rows) + _paragraph(legend, soft=True) if rows else ""
    return f"<h2>Statistics</h2>{_after_heading(report.statistics_in_words())}{picture}"


def _risk(report: ReleaseReport, public: bool) -> str:
    shown = report.risk.to_dict(public=True)
    shares = {
        "records found by linkage": report.risk.linked,
        "the same by guessing": report.risk.linked_by_guessing,
        "values close to the truth": shown["values_within_a_tenth_of_a_deviation"],
        "values unchanged": shown["values_unchanged"],
        "records unchanged": report.risk.whole_records,
    }
    text = _after_heading(report.risk_in_words()) + share_bars(shares)
    if not public and report.risk.confinement:
        words = "The tree survives, so whoever knows it knows in which interval a value lies."
        text += _paragraph(f"{words} On average a leaf leaves this share of an attribute's domain open:")
        text += share_bars(report.risk.confinement)
    return f"<h2>Risk</h2>{text}"


def _owner(report: ReleaseReport) -> str:
    amounts = [f"{name}: {amount:g}" for name, amount in report.amount.items()]
    leaves = [f"leaf {fit['leaf']}: {fit['reason']}, shrinkage {fit['shrinkage']:.2f}" for fit in report.shrunk_leaves]
    parts = [_unfold("Amounts of noise", amounts), _unfold("Leaves with a shrunken correlation matrix", leaves)]
    return f"<h2>For the owner</h2>{''.join(parts)}{_unfold('Notes', list(report.notes))}"


def _unfold(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<details><summary>{escape(title)} ({len(lines)})</summary><ul>{items}</ul></details>"


def _paragraph(text: str, *, soft: bool = False) -> str:
    return f"<p{' class=soft' if soft else ''}>{escape(text)}</p>"


def _after_heading(text: str) -> str:
    """The report's words without their first one, which the heading says already."""
    return _paragraph(text.partition(". ")[2])
