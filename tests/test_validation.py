"""Every check takes what is right and names what is wrong, in one printable line."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import ArrayLike

from mipselect import array_checks as a
from mipselect import validation as v
from mipselect.errors import InvalidInput

HUGE = 10**5000
ESCAPE = "\x1b]0;owned\x07"


def kind(value: object) -> str:
    """A name for a case: the values themselves are too long for one."""
    return type(value).__name__


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(3), Fraction(1, 3)])
def test_real_numbers_become_floats(value: float) -> None:
    assert type(v.checked_positive(value, "a")) is float
    assert v.checked_positive(value, "a") == float(value)


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1", None, 1j, Decimal(1), [1.0], np.ones(1), math.nan, math.inf, HUGE, 0, -1],
    ids=kind,
)
def test_what_is_no_positive_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="width must be a finite number > 0, got "):
        v.checked_positive(value, "width")  # type: ignore[arg-type]


def test_a_fraction_that_no_float_holds_is_not_above_zero() -> None:
    with pytest.raises(InvalidInput):
        v.checked_positive(Fraction(1, HUGE), "a")
    with pytest.raises(InvalidInput):
        v.checked_share(1 - Fraction(1, HUGE), "a", closed=False)


def test_ranges() -> None:
    assert v.checked_nonnegative(0, "a") == 0.0
    assert v.checked_share(1, "a", closed=True) == 1.0
    assert v.checked_time_limit(math.inf) == math.inf
    for check, value in [
        (v.checked_nonnegative, -1e-300),
        (v.checked_tolerance, True),
        (v.checked_tolerance, math.inf),
        (v.checked_time_limit, True),
        (v.checked_time_limit, math.nan),
        (v.checked_time_limit, 0.0),
        (v.checked_epsilon, 0.0),
    ]:
        with pytest.raises(InvalidInput, match="it must be"):
            check(value, "it")
    for closed, value in [(True, 1.1), (False, 1.0), (False, 0.0), (True, True)]:
        with pytest.raises(InvalidInput, match="gamma"):
            v.checked_share(value, "gamma", closed=closed)


@pytest.mark.parametrize(
    "value", [True, 2.0, "2", None, np.float64(2), 0, 7, HUGE, -HUGE], ids=kind
)
def test_what_is_no_integer_in_range_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"steps must be an integer in 1\.\.6, got "):
        v.checked_integer(value, "steps", 1, 6)  # type: ignore[arg-type]


def test_integers() -> None:
    assert type(v.checked_integer(np.uint8(3), "a", 0)) is int
    assert v.checked_integer(HUGE, "a", 0) == HUGE
    with pytest.raises(InvalidInput, match="a must be an integer ≥ 1, got 0"):
        v.checked_integer(0, "a", 1)


def test_scales_keep_away_from_the_ends_of_floats() -> None:
    for value in (1e-25, 1, 1e25):
        assert v.checked_scale(value, "a") == value
    for value in (9e-26, 5e-324, 1.1e25, 1e308):
        with pytest.raises(InvalidInput, match=r"a must lie between 1e-25 and 1e\+25, got"):
            v.checked_scale(value, "a")
    with pytest.raises(InvalidInput, match="finite number > 0"):
        v.checked_scale(0.0, "a")


def test_choices() -> None:
    assert v.checked_choice("b", "which", ["a", "b"]) == "b"
    for wrong in ("c", None, ["a"]):
        with pytest.raises(InvalidInput, match="which must be 'a' or 'b'"):
            v.checked_choice(wrong, "which", ["a", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["", "a" * 201, "a\nb", ESCAPE, "a\u202eb", "\ud800", 3, None, b"a"]
)
def test_names_are_short_printable_texts(name: object) -> None:
    with pytest.raises(InvalidInput, match="the name must be"):
        v.checked_name(name, "the name")  # type: ignore[arg-type]


def test_names() -> None:
    assert v.checked_name("Größe 1 (m²)", "a") == "Größe 1 (m²)"
    assert type(v.checked_name(np.str_("a"), "a")) is str
    assert v.checked_feature_names(["a", "b"], 2) == ("a", "b")
    for names, message in [
        (["a"], "2 entries"),
        ("ab", "list of texts"),
        (3, "list of texts"),
        (["a", "a"], "columns 0 and 1: a"),
        (["a", 1], "column 1 must be a text"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            v.checked_feature_names(names, 2)  # type: ignore[arg-type]


def test_indices() -> None:
    assert a.checked_support(np.array([3, 1]), 2, 4) == (1, 3)
    assert a.checked_items([3, 1], 2, 4) == (3, 1)
    assert a.checked_index(np.int8(3), 4) == 3
    for wrong in ([1], [1, 1], [1, 4], [-1, 1], [1.0, 2.0], ["a", "b"], None):
        with pytest.raises(InvalidInput, match="a support is 2"):
            a.checked_support(wrong, 2, 4)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="an outcome is 2"):
            a.checked_items(wrong, 2, 4)  # type: ignore[arg-type]
    for wrong in (4, -1, 1.0, [1], None):
        with pytest.raises(InvalidInput, match="an outcome is an index"):
            a.checked_index(wrong, 4)  # type: ignore[arg-type]


def test_scores_are_read_without_rounding_or_refused() -> None:
    halves, truths = np.array([0.5, 3], np.float16), np.array([True, False])
    for scores in ([1, 2.5], np.arange(3), (True, 2), halves, truths):
        checked = a.checked_scores(scores)
        assert checked.dtype == np.float64
        assert checked.tolist() == list(scores)
        assert not checked.flags.writeable
    for exact in ([HUGE, 0.5], [2**53 + 1, 1.0], np.array([2**62 + 1, 0])):
        checked = a.checked_scores(exact)
        assert all(one == other for one, other in zip(checked, exact, strict=True))
        assert not checked.flags.writeable
    bad: list[ArrayLike] = [[], [[1.0]], [[1.0], [1.0, 2.0]], ["a"], [1j], [None, 1.0], 3.0]  # type: ignore[list-item]
    bad += [[math.nan], [HUGE, -math.inf], [Decimal(1)], np.ones(1, np.longdouble)]  # type: ignore[list-item]
    bad += [np.ma.array([1.0]), np.array(["2026"], "M8[D]"), np.array([1], "m8[ns]")]
    for wrong in bad:
        with pytest.raises(InvalidInput, match="scores must be"):
            a.checked_scores(wrong)


def test_sensitivities_are_in_the_range_where_quotients_neither_overflow_nor_vanish() -> None:
    checked = a.checked_sensitivities([0, 1e-250, 1e250], 3)
    assert checked.tolist() == [0.0, 1e-250, 1e250]
    assert not checked.flags.writeable
    bad: list[ArrayLike] = [[1.0], [1.0, "a"], [[1.0, 2.0]], np.ma.array([1.0, 2.0])]
    bad += [[1.0, value] for value in (-1.0, math.inf, math.nan, HUGE, 9e-251, 1.1e250)]
    for wrong in bad:
        with pytest.raises(InvalidInput, match="sensitivities must be"):
            a.checked_sensitivities(wrong, 2)


def test_sensitivities_of_draws_are_one_for_each_and_above_zero() -> None:
    assert a.checked_sensitivity_of_draws(np.array([1, 2]), 2) == (1.0, 2.0)
    for wrong in ([1.0], 1.0, [[1.0, 2.0]]):
        with pytest.raises(InvalidInput, match="must be 2 numbers, one for each draw, got"):
            a.checked_sensitivity_of_draws(wrong, 2)  # type: ignore[arg-type]
    for value in (0.0, True, math.nan, HUGE, 9e-251, "1"):
        with pytest.raises(InvalidInput, match="a sensitivity must"):
            a.checked_sensitivity_of_draws([1.0, value], 2)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "check",
    [
        lambda value: v.checked_positive(value, "a"),
        lambda value: v.checked_integer(value, "a", 0, 3),
        lambda value: v.checked_choice(value, "a", ["b"]),
        lambda value: v.checked_name(value, "a"),
        lambda value: a.checked_support(value, 2, 3),
        lambda value: a.checked_index(value, 3),
    ],
)
@pytest.mark.parametrize(
    "value", [HUGE, "x" * 10**6, ESCAPE, "a\nb", ["y" * 10**6] * 100, np.zeros((50, 50))], ids=kind
)
def test_messages_are_one_short_printable_line(
    check: Callable[[object], object], value: object
) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(value)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 700
