"""What every channel must obey, written once; ``test_channel_laws.py`` runs it over every kind that exists."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from tests.statistics import assert_fits

from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.program import largest_ratio
from sfumato.channels.words import KeyedWords, SimulatedWords, secure_words
from sfumato.domain import MISSING, Items

SAMPLES = 20_000


def columns_sum_to_one(channel: Channel) -> None:
    law = channel.law()
    assert law.shape == (channel.outputs.size, channel.inputs.size)
    assert (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=0), 1, atol=1e-12)


def samples_fit_the_table(channel: Channel) -> None:
    law = channel.law()
    for code in {0, channel.inputs.size // 3, channel.inputs.size - 1}:
        source = SimulatedWords(np.random.default_rng(11 + code))
        reports = channel.report_codes(np.full(SAMPLES, code), source)
        assert_fits(np.bincount(reports, minlength=channel.outputs.size), law[:, code])


def stated_gamma_covers_the_table(channel: Channel) -> None:
    assert channel.guarantee().gamma * (1 + 1e-9) >= largest_ratio(channel.law())


def specification_round_trips(channel: Channel) -> None:
    written = json.loads(json.dumps(channel.to_spec()))
    again = channel_from_spec(channel.domain, written)
    assert again == channel
    np.testing.assert_array_equal(again.law(), channel.law())


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
    true = np.linspace(channel.domain.low, channel.domain.high, 5)  # type: ignore[union-attr]
    table = channel.matrix(true=true, reported=edges)
    np.testing.assert_allclose(table.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(channel.matrix(true=true).sum(axis=0), 1, atol=1e-12)


def the_statement_is_prose_and_plain_data(channel: Channel) -> None:
    guarantee = channel.guarantee()
    assert len(str(guarantee)) > 80 and "nan" not in str(guarantee)
    json.dumps(guarantee.to_dict(), allow_nan=False)


LAWS: list[Callable[[Channel], None]] = [
    columns_sum_to_one,
    samples_fit_the_table,
    stated_gamma_covers_the_table,
    specification_round_trips,
    input_is_untouched,
    batch_equals_single_values,
    reports_decode_to_their_own_codes,
    secure_draws_differ_and_keyed_draws_repeat,
    missing_passes_through,
    coarse_tables_agree_with_the_fine_one,
    the_statement_is_prose_and_plain_data,
]


def check_channel(channel: Channel) -> None:
    """All laws at once."""
    for law in LAWS:
        law(channel)
