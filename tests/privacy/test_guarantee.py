"""Guarantees and releases: what they may hold, how they add up, how they read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.decimals import exact, round_down, round_up
from mipselect.privacy.guarantee import _two_steps

ONE, TWO = Guarantee(1.0), Guarantee(1.0, 0.5)
REFUSED: list[tuple[Any, list[Any], str]] = [
    (Guarantee, [-0.1, math.inf, math.nan, "1", None, True, 1j], "epsilon"),
    (partial(Guarantee, 1.0), [-1e-9, 1.0, math.nan, "0", None, False], "delta"),
    (partial(Guarantee, 1.0, 0.0), ["swap"], "replace-one"),
    (ONE.to, ["swap"], "replace-one"),
    (partial(Guarantee, 1.0, 0.0, "replace-one"), ["a", [1.5], ["a\n1.5"], [""]], "condition"),
    (ONE.times, [0, -1, 1.5, True, "2"], "count"),
    (TWO.times, [2], "add up"),
    (TWO.__add__, [Guarantee(1.0, 0.6)], "add up"),
    (Guarantee(1e308).times, [2], "add up"),
    (lambda x: Guarantee(*x, "add-remove").to("replace-one"), [(1.0, 0.5), (1000.0, 1e-9)],
     "guarantees nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "wrong", "words"), REFUSED)
def test_what_is_no_guarantee_is_refused(make: Any, wrong: list[Any], words: str) -> None:
    for value in wrong:
        with pytest.raises(InvalidInput, match=words):
            make(value)


def test_the_mark_of_a_seeded_draw_stays() -> None:
    seeded = Guarantee(0.5, 1e-6, "add-remove", private=False)
    for derived in (
        seeded.times(3),
        seeded.to("replace-one"),
        seeded.to("add-remove"),
        seeded + Guarantee(0.1, relation="add-remove"),
        Guarantee(0.1, relation="add-remove") + seeded,
    ):
        assert not derived.private
        assert derived.to_dict()["private"] is False
        assert str(derived).startswith("no guarantee, for the draw was seeded; otherwise (")
    assert Guarantee(0.5).times(2).private
    assert (Guarantee(0.5) + Guarantee(0.5)).to_dict()["private"] is True
    with pytest.raises(InvalidInput, match="private must be True or False"):
        Guarantee(1.0, private=0)


def test_add_remove_is_twice_that_under_replace_one() -> None:
    converted = Guarantee(0.3, 1e-6, "add-remove", ("c",)).to("replace-one")
    assert converted.epsilon == 0.6
    assert converted.delta == pytest.approx((1 + math.exp(0.3)) * 1e-6, rel=1e-15)
    assert converted.relation == "replace-one"
    assert converted.conditions == ("c",)
    assert Guarantee(1000.0, 0.0, "add-remove").to("replace-one") == Guarantee(2000.0)


def test_the_delta_of_two_steps_is_rounded_up_and_by_little() -> None:
    """Against 60 digits, for the decimals that a ledger reads."""
    rng = np.random.default_rng(2)
    pairs = [(float(10.0 ** rng.uniform(-6, 1.3)), float(10.0 ** rng.uniform(-40, -10)))
             for _ in range(500)]  # fmt: skip
    for epsilon, delta in [*pairs, (1e-20, 5e-324), (700.5, 1e-308), (1.0, 0.2), (1e-30, 0.4)]:
        converted = Guarantee(epsilon, delta, "add-remove").to("replace-one")
        with mpmath.workdps(60):
            true = (1 + mpmath.exp(mpmath.mpf(repr(epsilon)))) * mpmath.mpf(repr(delta))
            stated = mpmath.mpf(repr(converted.delta))
            below = mpmath.mpf(repr(math.nextafter(converted.delta, 0.0)))
            assert below < true <= stated
            exactly = _two_steps(epsilon, delta)
            assert mpmath.mpf(exactly.numerator) / exactly.denominator >= true * (1 - 1e-55)


def test_what_cannot_be_converted() -> None:
    with pytest.raises(RelationMismatch):
        Guarantee(1.0).to("add-remove")
    same = Guarantee(1.0)
    assert same.to("replace-one") is same


def test_sums_are_exact_in_decimal() -> None:
    tenth = Guarantee(0.1, 1e-7)
    assert reduce(add, [tenth] * 10) == Guarantee(1.0, 1e-6)
    assert tenth.times(10) == Guarantee(1.0, 1e-6)
    assert tenth.times(50) == Guarantee(5.0, 5e-6)
    assert tenth.times(1) == tenth
    assert Guarantee(0.1) + Guarantee(0.2) == Guarantee(0.3)


def test_conditions_are_united_in_order() -> None:
    one, two = Guarantee(1.0, conditions=("b", "a")), Guarantee(1.0, conditions=("a", "c"))
    assert (one + two).conditions == ("b", "a", "c")
    assert one.times(3).conditions == ("b", "a")


def test_different_relations_are_not_added() -> None:
    with pytest.raises(RelationMismatch, match="to\\('replace-one'\\)"):
        Guarantee(1.0) + Guarantee(1.0, relation="add-remove")
    with pytest.raises(TypeError):
        Guarantee(1.0) + 1.0


def test_it_reads_as_a_sentence() -> None:
    assert str(Guarantee(1.0)) == (
        "1-differentially private (pure), replacing one row; no further condition"
    )
    assert str(Guarantee(0.3, 1e-6, "add-remove", ("the chain has mixed", "b"))) == (
        "(0.3, 1e-06)-differentially private, adding or removing one row; "
        "provided that: the chain has mixed; b"
    )


@given(st.lists(st.decimals(0, 100, places=3), min_size=1, max_size=30))
def test_sums_agree_with_decimal_arithmetic(amounts: list) -> None:
    together = reduce(add, [Guarantee(float(amount)) for amount in amounts])
    assert together.epsilon == float(sum(amounts))


@given(st.fractions(0, 10**6))
def test_rounding_is_to_the_cautious_side(value: Fraction) -> None:
    assert exact(round_down(value)) <= value <= exact(round_up(value))
    assert round_up(value) - round_down(value) <= 4 * math.ulp(float(value))


PRIVATE = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", True)
SEEDED = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", False)


def test_a_private_release_reads_as_two_sentences() -> None:
    assert str(PRIVATE) == (
        "top-r selected bmi (1), s5 (4).\n"
        "It is 1-differentially private (pure), replacing one row; no further condition."
    )


def test_it_is_ready_for_json() -> None:
    assert json.loads(json.dumps(SEEDED.to_dict())) == {
        "mechanism": "top-r",
        "support": [1, 4],
        "feature_names": ["bmi", "s5"],
        "private": False,
        "guarantee": {
            "epsilon": 1.0,
            "delta": 0.0,
            "relation": "replace-one",
            "conditions": [],
            "private": False,
        },
    }


def test_the_mark_of_a_seed_is_on_the_guarantee_too() -> None:
    assert SEEDED.guarantee == replace(Guarantee(1.0), private=False)
    assert not Release((1,), (), replace(Guarantee(1.0), private=False), "top-r", True).private


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": (pa.chunked_array([[1.5, 2.5]]), pa.chunked_array([[1.5, 2.5]]))},
        {"feature_names": (1.5, 2.5)},
        {"feature_names": ("bmi", "s5\n1.5, 2.5")},
        {"feature_names": ("bmi", "\x1b]0;owned\x07")},
        {"feature_names": ("bmi", "5" * 201)},
        {"feature_names": ("bmi",)},
        {"feature_names": "b"},
        {"mechanism": 1.5},
        {"mechanism": "top-r\n[1.5, 2.5]"},
        {"support": (1.5, 2.5)},
        {"support": (-1, 2)},
        {"guarantee": 1.0},
        {"private": "yes"},
    ],
)
def test_nothing_but_a_choice_can_leave_in_it(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        replace(PRIVATE, **changes)
    assert str(caught.value).isprintable()
