"""What every mechanism must obey, written once; ``test_laws.py`` runs it over every kind that exists."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jsonschema
import numpy as np

from sfumato.channels.base import Channel
from sfumato.channels.mechanism import Mechanism, mechanism_from_spec
from sfumato.channels.program import Program, largest_ratio
from sfumato.channels.program.random_words import KeyedWords, RecordWords, SimulatedWords, secure_words
from sfumato.domain import MISSING, Items
from sfumato.plan import program_schema
from sfumato.privacy.audit.channel import draw_tally, tally_given_reports
from sfumato.privacy.audit.law import check_law
from sfumato.privacy.audit.probe import ChannelProbe, Effort
from tests.laws.chance_channels import random_values
from tests.statistics import FALSE_ALARM, assert_fits

SAMPLES, AUDITED, MOST_MULTIPLIED = 20_000, 100_000, 10**9


# --- of every mechanism -------------------------------------------------------------------------------------------


def specification_round_trips(mechanism: Mechanism) -> None:
    written = json.loads(json.dumps(mechanism.to_spec()))
    again = mechanism_from_spec(mechanism.domain, written)
    assert again == mechanism and again.identity == mechanism.identity
    assert type(again) is type(mechanism) and again.to_spec() == mechanism.to_spec()


def the_program_is_plain_whole_numbers(mechanism: Mechanism) -> None:
    written = mechanism.program()
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    jsonschema.validate(written, program_schema())

    def walk(value: object) -> None:
        parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, part in parts:
            if name != "labels":
                walk(part)
        assert not isinstance(value, float)
        assert not isinstance(value, int) or value == int(float(value))

    walk(written)


def the_statement_is_prose_and_plain_data(mechanism: Mechanism) -> None:
    guarantee = mechanism.guarantee()
    assert len(str(guarantee)) > 80 and "nan" not in str(guarantee)
    json.dumps(guarantee.to_dict(), allow_nan=False)


def levels_are_channels_over_the_same_domain(mechanism: Mechanism) -> None:
    if mechanism.has_levels:
        assert mechanism.default in mechanism.levels
    for channel in channels_of(mechanism):
        assert isinstance(channel, Channel) and channel.domain == mechanism.domain


def parameters_are_named(mechanism: Mechanism) -> None:
    assert set(mechanism.parameters()) <= set(mechanism.parameter_names())


def channels_of(mechanism: Mechanism) -> list[Channel]:
    """The channels whose laws must hold: one a level; none where several numbers are blurred at once."""
    return list(mechanism.levels.values())


# --- of every channel ---------------------------------------------------------------------------------------------


def columns_sum_to_one(channel: Channel) -> None:
    law = channel.law()
    assert law.shape == (channel.outputs.size, channel.inputs.size)
    assert (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=0), 1, atol=1e-12)


def the_law_is_that_of_the_program(channel: Channel) -> None:
    """However a channel states its law, it is read off the codes that are drawn."""
    if isinstance(channel.domain, Items) or channel.entry.size * channel.outputs.size**2 > MOST_MULTIPLIED:
        return
    np.testing.assert_allclose(channel.law(), channel.drawing.law(codes=channel.entry_codes), atol=1e-12)


def samples_fit_the_table(channel: Channel) -> None:
    law = channel.law()
    for code in {0, channel.inputs.size // 3, channel.inputs.size - 1}:
        of_records = RecordWords(b"secret of one job", np.arange(SAMPLES), f"{code}")
        for source in (SimulatedWords(np.random.default_rng(11 + code)), of_records):
            reports = channel.report_codes(np.full(SAMPLES, code), source)
            assert_fits(np.bincount(reports, minlength=channel.outputs.size), law[:, code])


def stated_gamma_covers_the_table(channel: Channel) -> None:
    assert channel.guarantee().gamma * (1 + 1e-9) >= largest_ratio(channel.law())


def gamma_is_exact_and_rounded_up(channel: Channel) -> None:
    exact = channel.exact_gamma
    if exact is None:
        assert channel.gamma == np.inf
    else:
        assert Fraction(channel.gamma) >= exact
        assert channel.gamma <= float(exact) * (1 + 1e-15)


def the_program_written_down_draws_the_same(channel: Channel) -> None:
    if isinstance(channel.domain, Items):  # their own interpreter reads the program: tests/vectors
        return
    again = Program.from_dict(json.loads(json.dumps(channel.program())))
    codes = np.arange(channel.entry.size)[:64]
    words = SimulatedWords(np.random.default_rng(3)).rows(codes, again.words)
    drawn = channel.drawing.draw(codes, list(words.T))
    np.testing.assert_array_equal(again.draw(codes, list(words.T)), drawn)
    assert again.gamma == channel.exact_gamma
    one_by_one = [again.draw(int(code), [int(word) for word in row]) for code, row in zip(codes, words, strict=True)]
    assert one_by_one == drawn.tolist()


def a_large_array_gets_the_reports_of_its_parts(channel: Channel) -> None:
    """The compiled form gives the same report for the same words."""
    if isinstance(channel.domain, Items):
        return
    values = np.resize(channel.inputs.decode(np.arange(channel.inputs.size)), 5000)
    whole = channel.randomize(values, rng=np.random.default_rng(8))
    generator = np.random.default_rng(8)
    parts = [channel.randomize(part, rng=generator) for part in np.split(values, 5)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def input_is_untouched(channel: Channel) -> None:
    values = channel.inputs.decode(np.arange(channel.inputs.size))
    before = values.copy()
    channel.randomize(values, rng=1)
    np.testing.assert_array_equal(values, before)


def batch_equals_single_values(channel: Channel) -> None:
    codes = np.arange(channel.inputs.size)[:50]
    batch = channel.report_codes(codes, SimulatedWords(np.random.default_rng(5)))
    source = SimulatedWords(np.random.default_rng(5))
    singles = [channel.report_codes(codes[i : i + 1], source)[0] for i in range(codes.size)]
    assert batch.tolist() == singles
    if not isinstance(channel.domain, Items):
        values, generator = channel.inputs.decode(codes), np.random.default_rng(5)
        reports = [channel.randomize(value, rng=generator) for value in values]
        assert list(channel.outputs.decode(batch)) == reports


def reports_decode_to_their_own_codes(channel: Channel) -> None:
    codes = np.arange(channel.outputs.size)
    np.testing.assert_array_equal(channel.encode_reports(channel.outputs.decode(codes)), codes)


def secure_draws_differ_and_keyed_draws_repeat(channel: Channel) -> None:
    code = np.zeros(1, dtype=np.int64)
    keyed = [channel.report_codes(code, KeyedWords(b"device secret 01", "q")).tolist() for _ in range(2)]
    assert keyed[0] == keyed[1]
    drawn = channel.report_codes(np.zeros(64, dtype=np.int64), secure_words())
    assert (channel.law()[drawn, 0] > 0).all()
    assert np.unique(drawn).size > 1 or channel.law()[:, 0].max() > 0.5


def missing_passes_through(channel: Channel) -> None:
    if isinstance(channel.domain, Items):  # a missing basket is not sent at all
        return
    source = SimulatedWords(np.random.default_rng(0))
    reports = channel.report_codes(np.array([MISSING, 0]), source)
    assert reports[0] == MISSING and reports[1] >= 0


def coarse_tables_agree_with_the_fine_one(channel: Channel) -> None:
    if not hasattr(channel.outputs, "edges"):
        return
    edges = np.quantile(channel.outputs.edges, [0, 0.3, 0.55, 1])
    rows = np.zeros((3, channel.outputs.size))
    rows[channel.cells_of_codes(edges), np.arange(channel.outputs.size)] = 1
    np.testing.assert_allclose(channel.matrix(reported=edges), rows @ channel.law(), atol=1e-12)
    if channel.domain.integer and channel.domain.width < 8:  # type: ignore[union-attr]
        return  # quarters may hold no whole number
    true = np.linspace(channel.domain.low, channel.domain.high, 5)  # type: ignore[union-attr]
    table = channel.matrix(true=true, reported=edges)
    np.testing.assert_allclose(table.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(channel.matrix(true=true).sum(axis=0), 1, atol=1e-12)


def the_audit_agrees_with_the_law(channel: Channel) -> None:
    """Of answers at the grid's points, and of some between them."""
    rng = np.random.default_rng(17)
    probe = ChannelProbe(channel, AUDITED)
    drawn = draw_tally(probe, partial(channel.randomize, rng=rng), Effort(AUDITED))
    between = {value: channel.randomize([value] * SAMPLES, rng) for value in random_values(rng, channel, 3).tolist()}
    for tally in (drawn, tally_given_reports(channel, between)):
        found = check_law(tally, channel.kind, FALSE_ALARM)
        assert found.passed, found.text


MECHANISM_LAWS: list[Callable[[Mechanism], None]] = [
    specification_round_trips,
    the_program_is_plain_whole_numbers,
    the_statement_is_prose_and_plain_data,
    levels_are_channels_over_the_same_domain,
    parameters_are_named,
]

CHANNEL_LAWS: list[Callable[[Channel], None]] = [
    columns_sum_to_one,
    the_law_is_that_of_the_program,
    samples_fit_the_table,
    stated_gamma_covers_the_table,
    gamma_is_exact_and_rounded_up,
    the_program_written_down_draws_the_same,
    a_large_array_gets_the_reports_of_its_parts,
    input_is_untouched,
    batch_equals_single_values,
    reports_decode_to_their_own_codes,
    secure_draws_differ_and_keyed_draws_repeat,
    missing_passes_through,
    coarse_tables_agree_with_the_fine_one,
]


def check_mechanism(mechanism: Mechanism) -> None:
    """All laws at once."""
    for law in MECHANISM_LAWS:
        law(mechanism)
    for channel in channels_of(mechanism):
        for law in CHANNEL_LAWS:
            law(channel)
