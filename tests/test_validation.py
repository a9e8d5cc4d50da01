"""Every check takes what is right and names what is wrong, in one printable line."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from mipselect import arrays
from mipselect import validation as v
from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores import base as a

HUGE = 10**5000
ESCAPE = "\x1b]0;owned\x07"


def kind(value: object) -> str:
    """A name for a case: the values themselves are too long for one."""
    return type(value).__name__


NUMBERS = [True, np.True_, "1", None, 1j, Decimal(1), [1.0], np.ones(1), math.nan, HUGE]
REFUSED: list[tuple[Callable[[Any], object], list[Any], str]] = [
    (lambda x: v.checked_positive(x, "width"), [*NUMBERS, math.inf, 0, -1, Fraction(1, HUGE)],
     "width must be a finite number > 0, got "),
    (lambda x: v.checked_integer(x, "steps", 1, 6), [*NUMBERS, 2.0, np.float64(2), 0, 7, -HUGE],
     r"steps must be an integer in 1\.\.6, got "),
    (lambda x: v.checked_integer(x, "a", 1), [0], "a must be an integer ≥ 1, got 0"),
    (lambda x: v.checked_nonnegative(x, "it"), [-1e-300, math.inf], "it must be"),
    (lambda x: v.checked_tolerance(x, "it"), [True, math.inf], "it must be"),
    (lambda x: v.checked_time_limit(x, "it"), [True, math.nan, 0.0], "it must be"),
    (lambda x: v.checked_share(x, "it", closed=True), [1.1, True], "it must be"),
    (lambda x: v.checked_share(x, "it", closed=False), [0.0, 1.0, 1 - Fraction(1, HUGE)], "it"),
    (lambda x: v.checked_scale(x, "a"), [9e-26, 5e-324, 1.1e25, 1e308],
     r"a must lie between 1e-25 and 1e\+25, got"),
    (lambda x: v.checked_choice(x, "which", ["a", "b"]), ["c", None, ["a"]],
     "which must be 'a' or 'b'"),
    (lambda x: v.checked_name(x, "the name"),
     ["", "a" * 201, "a\nb", ESCAPE, "a\u202eb", "\ud800", 3, None, b"a"], "the name must be"),
    (lambda x: arrays.checked_support(x, 2, 4),
     [[1], [1, 1], [1, 4], [-1, 1], [1.0, 2.0], ["a", "b"], None], "a support is 2"),
    (lambda x: a.checked_items(x, 2, 4), [[1], [1, 1], [1, 4], None], "an outcome is 2"),
    (lambda x: a.checked_index(x, 4), [4, -1, 1.0, [1], None], "an outcome is an index"),
    (lambda x: a.checked_sensitivity_of_draws(x, 2), [[1.0], 1.0, [[1.0, 2.0]]],
     "must be 2 numbers, one for each draw, got"),
    (lambda x: a.checked_sensitivity_of_draws([1.0, x], 2), [0.0, True, HUGE, 9e-251, "1"],
     "a sensitivity must"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "wrong", "words"), REFUSED)
def test_what_is_wrong_is_refused(
    check: Callable[[Any], object], wrong: list[Any], words: str
) -> None:
    for value in wrong:
        with pytest.raises(InvalidInput, match=words):
            check(value)


def test_what_is_right_is_taken_as_it_is() -> None:
    for value in (1, 0.5, np.float32(0.5), np.int64(3), Fraction(1, 3)):
        assert type(v.checked_positive(value, "a")) is float
        assert v.checked_positive(value, "a") == float(value)
    assert v.checked_integer(HUGE, "a", 0) == HUGE
    assert type(v.checked_integer(np.uint8(3), "a", 0)) is int
    assert arrays.checked_support(np.array([3, 1]), 2, 4) == (1, 3)
    assert a.checked_items([3, 1], 2, 4) == (3, 1)
    assert a.checked_index(np.int8(3), 4) == 3


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


@pytest.mark.parametrize(
    "check",
    [
        lambda value: v.checked_positive(value, "a"),
        lambda value: v.checked_integer(value, "a", 0, 3),
        lambda value: v.checked_choice(value, "a", ["b"]),
        lambda value: v.checked_name(value, "a"),
        lambda value: arrays.checked_support(value, 2, 3),
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
