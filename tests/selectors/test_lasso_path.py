"""The Lasso's path: optimal at every point, and never a word."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from mipselect.selectors.lasso_ballots import lasso_ballot, lasso_path

KINDS = ("normal", "signs", "related", "wide", "equal", "sums")


def centred(table: np.ndarray) -> np.ndarray:
    table = table - table.mean(axis=0)
    return table / (np.abs(table).max() or 1.0)


def problem(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    m, p = int(rng.integers(2, 40)), int(rng.integers(1, 25))
    if kind == "wide":
        p += m
    X = rng.normal(size=(m, p))
    if kind == "signs":
        X = np.sign(X)
    if kind == "related":
        X = X @ rng.normal(size=(p, p))
    if kind == "equal":
        X = np.hstack([X, X[:, ::-1], -X[:, :1], np.zeros((m, 1))])
    if kind == "sums" and p > 2:
        X[:, 2] = X[:, 0] + X[:, 1]
    y = X @ (rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.4))
    y += rng.normal(size=m) * rng.choice([0.0, 0.1, 10.0])
    return centred(X), centred(y)


def violation(X: np.ndarray, y: np.ndarray, penalty: float, coef: np.ndarray) -> float:
    """How far from the optimality conditions: |c| ≤ λ, and c = λ sign(β) where β is not zero."""
    c = X.T @ (y - X @ coef)
    inside = np.abs(c).max() - penalty
    return float(max(inside, np.abs(c - penalty * np.sign(coef))[coef != 0.0].max(initial=0.0)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_of_the_path_is_optimal_and_it_goes_all_the_way(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    left = 0
    for _ in range(60):
        X, y = problem(kind, rng)
        segments = list(lasso_path(X, y))
        start = np.abs(X.T @ y).max()
        if not segments:
            assert start == 0.0
            continue
        assert segments[0].penalties[0] == start
        assert segments[-1].penalties[1] <= 1e-9 * start
        for segment in segments:
            first, last = segment.penalties
            assert last <= first
            for penalty in (first, last, (first + last) / 2.0):
                assert violation(X, y, penalty, segment.at(penalty)) <= 1e-9 * start
            np.testing.assert_allclose(segment.middle, segment.at((first + last) / 2.0), atol=1e-9)
        for one, other in pairwise(segments):
            assert one.penalties[1] == other.penalties[0]
            assert one.ends[1] is other.ends[0]
            left += int(((one.middle != 0.0) & (other.middle == 0.0)).sum())
    assert left > 0


HOSTILE = [0.0, 1.0, -1.0, 3.0, 5e-324, 1e-300, 1e-160, 1e16, 1e154, 1e200, 1e308, -1e308, 1.7e308]


@pytest.mark.parametrize("alpha", [None, 5e-324, 1e-3, 1.0, 1e300])
def test_no_rows_make_a_ballot_fail_or_speak(alpha: float | None) -> None:
    """Warnings are errors in these tests."""
    rng = np.random.default_rng(11)
    for _ in range(600):
        m, p, k = (int(rng.integers(1, top)) for top in (7, 6, 4))
        X = rng.choice(HOSTILE, (m, p))
        y = rng.choice(HOSTILE, m) if rng.random() < 0.7 else X[:, 0]
        ballot = lasso_ballot if alpha is None else partial(lasso_ballot, alpha=alpha)
        found = ballot(X, y, k=k)
        assert len(set(found)) == len(found) <= k
        assert set(found) <= set(range(p))


PROGRAM = """
import sys, numpy as np
from joblib import parallel_config
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from mipselect import Ledger
from mipselect.selectors import SampleAggregateSelector

ledger = Ledger(100.0, relation="add-remove")
X = np.random.default_rng(0).normal(size=(600, 60))
y = np.zeros(600)
y[17] = float(sys.argv[1])
for alpha in (None, 1e-3):
    selector = SampleAggregateSelector(5, alpha=alpha, ledger=ledger)
    model = make_pipeline(selector, LinearRegression())
    with parallel_config(backend="threading"):
        cross_val_score(model, np.hstack([X, X]), y, n_jobs=4, error_score="raise")
"""


@pytest.mark.deep
@pytest.mark.parametrize("entry", ["0", "1000"])
def test_threads_say_nothing_on_either_of_two_neighbours(entry: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM, entry],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
