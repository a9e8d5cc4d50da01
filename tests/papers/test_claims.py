"""Claims of a paper: they can be contradicted, and errors and gaps are not counted as proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from mipselect_papers.catalogue import EXPERIMENTS, experiment_named
from mipselect_papers.claims import (
    IN_PART,
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    AheadInTheEnd,
    AheadOfAll,
    Finding,
    Number,
    Rises,
    Somewhere,
)
from mipselect_papers.experiment import (
    Middle,
    Place,
    Results,
    clearly_above,
    mean_of,
    median_of,
)


def results(lines: Mapping[str, Mapping[float, Sequence[float | None]]]) -> Results:
    return Results.of(
        [
            (Place("", method, "m", x), value)
            for method, line in lines.items()
            for x, values in line.items()
            for value in values
        ],
        [],
    )


AHEAD = Ahead("a is ahead of b", "m", "a", ("b",))


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.9, 0.91], [0.1, 0.12], SEEN),
        ([0.1, 0.12], [0.9, 0.91], NOT_SEEN),
        ([0.0, 1.0], [0.4, 0.5], OPEN),
        ([0.5], [0.5], OPEN),
        ([0.5], [0.4], SEEN),
    ],
)
def test_ahead_is_two_standard_errors(a: list[float], b: list[float], verdict: str) -> None:
    found = AHEAD.judged(results({"a": {1.0: a}, "b": {1.0: b}}))
    assert found.verdict == verdict


def test_ahead_in_part_beyond_its_span_and_the_other_way_round() -> None:
    crossing = results({"a": {1.0: [0.0], 2.0: [1.0]}, "b": {1.0: [0.5], 2.0: [0.5]}})
    assert AHEAD.judged(crossing).verdict == IN_PART
    assert "ahead at 1, level at 0, behind at 1 of 2" in AHEAD.judged(crossing).evidence
    assert Ahead("", "m", "a", ("b",), (1.5, 3.0)).judged(crossing).verdict == SEEN
    assert (
        Ahead("", "m", "a", ("b",), (1.5, 3.0), higher=False).judged(crossing).verdict == NOT_SEEN
    )
    assert Ahead("", "m", "a", ("b",), (5.0, 6.0)).judged(crossing).verdict == OPEN
    assert Ahead("", "m", "a", ("b",), panels=("other",)).judged(crossing).verdict == OPEN


def test_never_behind_is_seen_where_nothing_differs() -> None:
    claim = Ahead("", "m", "a", ("b",), never_behind=True)
    assert claim.judged(results({"a": {1.0: [0.5]}, "b": {1.0: [0.5]}})).verdict == SEEN
    assert claim.judged(results({"a": {1.0: [0.4]}, "b": {1.0: [0.5]}})).verdict == NOT_SEEN
    almost = Ahead("", "m", "a", ("b",), never_behind=True, margin=0.2)
    assert almost.judged(results({"a": {1.0: [0.4]}, "b": {1.0: [0.5]}})).verdict == SEEN


def test_rises_wants_a_rise_and_no_step_back() -> None:
    claim = Rises("", "m", ("a",))
    assert claim.judged(results({"a": {1.0: [0.1], 2.0: [0.4], 3.0: [0.9]}})).verdict == SEEN
    back = claim.judged(results({"a": {1.0: [0.1], 2.0: [0.95], 3.0: [0.9]}}))
    assert back.verdict == NOT_SEEN
    assert "a step back at 3" in back.evidence
    flat = results({"a": {1.0: [0.4, 0.6], 2.0: [0.4, 0.7]}})
    assert claim.judged(flat).verdict == OPEN
    assert claim.judged(results({"a": {1.0: [0.4]}})).verdict == OPEN
    assert Rises("", "m", ("a",), falls=True).judged(
        results({"a": {1.0: [0.9], 2.0: [0.1]}})
    ).verdict == SEEN  # fmt: skip


def test_a_number_is_granted_its_error() -> None:
    claim = Number("", "m", "", "a", 1.0, 0.5, 0.01)
    assert claim.judged(results({"a": {1.0: [0.505]}})).verdict == SEEN
    assert claim.judged(results({"a": {1.0: [0.6]}})).verdict == NOT_SEEN
    assert claim.judged(results({"a": {1.0: [0.5, 0.7]}})).verdict == SEEN
    assert claim.judged(results({"a": {2.0: [0.5]}})).verdict == OPEN


def test_means_leave_out_no_answer_and_medians_count_it_as_the_worst() -> None:
    mean = mean_of([1.0, 3.0, None])
    assert mean is not None
    assert (mean.value, mean.count) == (2.0, 2)
    assert mean.error == pytest.approx(1.0)
    assert mean_of([None]) is None
    median = median_of([1.0, None, 3.0])
    assert median is not None
    assert median.value == 1.0
    nothing = median_of([None, None, 3.0])
    assert nothing is not None
    assert nothing.value == -math.inf
    assert str(nothing) == "none [?]"
    assert str(median_of([None] * 7)) == "none"
    assert str(median_of([None] * 6 + [1.0] * 5)) == "none [none, 1]"


def test_a_median_lies_between_two_of_the_values_with_95_percent() -> None:
    """By binomial laws: of 10 values the second and the ninth, of 30 the tenth and the 21st."""
    for count, below in ((6, 1), (10, 2), (30, 10), (100, 40)):
        values = [float(number) for number in range(1, count + 1)]
        found = median_of(values)
        assert found is not None
        assert found.interval == (below, count + 1 - below)
        outside = 2.0 * sum(math.comb(count, number) for number in range(below)) / 2**count
        assert outside <= 0.05 < outside + 2.0 * math.comb(count, below) / 2**count
    few = median_of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert few is not None
    assert few.interval == (-math.inf, math.inf)
    assert str(few) == "3 [?]"


def test_intervals_that_overlap_decide_nothing() -> None:
    one, other = Middle(0.76, None, 10, (0.3, 0.8)), Middle(0.05, None, 10, (-0.4, 0.31))
    assert not clearly_above(one, other)
    assert clearly_above(one, Middle(0.05, None, 10, (-0.4, 0.29)))
    assert not clearly_above(one, Middle(0.05, None, 10, (-0.4, 0.29)), margin=0.02)
    # The same medians, as if they had no error, would have decided.
    assert clearly_above(Middle(0.76, None, 10), Middle(0.05, None, 10))


LINE = "m", "a", ("b",)


@pytest.mark.parametrize(
    ("a", "b", "verdict", "words"),
    [
        ([0.1, 0.5, 0.9], [0.3, 0.3, 0.3], SEEN, "b: ahead from 2 on"),
        ([0.1, 0.9, 1.0], [0.3, 0.3, 1.0], SEEN, "b: ahead from 2 on, level at 3"),
        ([0.9, 0.5, 0.1], [0.3, 0.3, 0.3], NOT_SEEN, "b: behind from 3 on"),
        ([0.9, 0.3, 0.3], [0.3, 0.3, 0.3], SEEN, "b: ahead from 1 on, level at 2, 3"),
        ([0.3, 0.3, 0.3], [0.3, 0.3, 0.3], OPEN, "b: level everywhere"),
    ],
)
def test_ahead_in_the_end_is_where_they_differ_last(
    a: list[float], b: list[float], verdict: str, words: str
) -> None:
    lines = {
        name: {x: [value] for x, value in enumerate(values, 1)}
        for name, values in (("a", a), ("b", b))
    }
    found = AheadInTheEnd("", *LINE).judged(results(lines))
    assert (found.verdict, found.evidence) == (verdict, words)


def test_ahead_in_the_end_of_several_and_of_none() -> None:
    lines = {"a": {1.0: [0.5]}, "b": {1.0: [0.2]}, "c": {1.0: [0.9]}}
    assert AheadInTheEnd("", "m", "a", ("b", "c")).judged(results(lines)).verdict == IN_PART
    assert AheadInTheEnd("", "m", "a", ("d",)).judged(results(lines)).verdict == OPEN
    assert AheadInTheEnd("", "m", "a", ("c",), higher=False).judged(results(lines)).verdict == SEEN


def test_somewhere_is_one_place() -> None:
    crossing = results({"a": {1.0: [0.0], 2.0: [1.0]}, "b": {1.0: [0.5], 2.0: [0.5]}})
    assert Somewhere("", AHEAD).judged(crossing).verdict == SEEN
    assert (
        "at 1 of 2 places; first b, 2: 1 against 0.5"
        in Somewhere("", AHEAD).judged(crossing).evidence
    )
    never = Ahead("", "m", "a", ("b",), margin=0.6)
    assert Somewhere("", never).judged(crossing).verdict == NOT_SEEN
    assert Somewhere("", Ahead("", "m", "c", ("b",))).judged(crossing).verdict == OPEN


def test_a_superlative_is_left_open_by_one_that_is_level() -> None:
    lines = {"a": {1.0: [0.5]}, "b": {1.0: [0.2]}, "c": {1.0: [0.1]}, "d": {1.0: [0.5]}}

    def judged(*worse: str) -> Finding:
        return AheadOfAll(Ahead("", "m", "a", worse)).judged(results(lines))

    assert judged("b", "c").verdict == SEEN
    assert judged("b", "d").verdict == OPEN
    assert judged("b", "d").evidence == ("ahead at 1 of 2 places; level with d, 1: 0.5 against 0.5")
    lines["d"][1.0] = [0.6]
    assert judged("b", "d").verdict == NOT_SEEN
    assert judged("e").verdict == OPEN


SPANS = {
    ("sis-accuracy", "christensen"): (1.0, 10.0),
    ("sis-accuracy", "sorlie"): (1.0001, 20.0),
    ("sis-accuracy", "yeoh"): (2.0001, 20.0),
    ("sis-synth", "Synth"): (10.0001, 20.0),
    ("kendall-regression", "k = 5"): (5, 5),
}
"""Where the papers say where: figures 2 to 5 of DP-SIS by ε, figures 1 and 2 of DPKendall by k."""


def test_no_claim_has_a_span_that_its_paper_does_not_name() -> None:
    """The integer programming paper says "for large enough n", and no n."""
    found = {
        (experiment.name, claim.text): claim.span
        for experiment in EXPERIMENTS
        for claim in (getattr(claim, "ahead", claim) for claim in experiment.claims)
        if isinstance(claim, Ahead) and claim.span is not None
    }
    for (name, text), span in found.items():
        named = [s for (where, word), s in SPANS.items() if where == name and word in text]
        assert named == [span], (name, text)
    assert {name for name, _ in found} == {name for name, _ in SPANS}
    for name in ("mip-1a", "mip-1b", "mip-1b-large", "mip-prediction", "mip-size", "mip-large",
                 "mip-very-large"):  # fmt: skip
        claims = experiment_named(name).claims
        assert sum("for large enough n" in claim.text for claim in claims) >= 2
        for claim in claims:
            assert isinstance(claim, AheadInTheEnd) == ("for large enough n" in claim.text)
            assert "or more" not in claim.text


@pytest.mark.parametrize(
    "name", ["mip-1a", "mip-size", "mip-snr", "mip-rho", "mip-large", "mip-very-large"]
)
def test_what_is_claimed_to_be_ahead_of_all_others_is_run_beside_them(name: str) -> None:
    """Appendix D.1.3 had neither chains nor votes, so that its claim could not be contradicted."""
    experiment = experiment_named(name)
    compared = [claim for claim in experiment.claims if "MCMC and samp-agg" in claim.text]
    assert {claim.better for claim in compared} == {"top-R", "mistakes"}  # type: ignore[attr-defined]
    for recipes in (experiment.full.recipes, experiment.quick.recipes):
        run = {method for recipe in recipes for method in recipe.methods}  # type: ignore[attr-defined]
        for claim in compared:
            assert {"MCMC", "samp-agg"} <= set(claim.worse) <= run  # type: ignore[attr-defined]
