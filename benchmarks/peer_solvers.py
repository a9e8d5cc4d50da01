"""One solver of others on one stored problem, in an environment that has it; see peers.py.

python peer_solvers.py okridge|l0bnb|abess PROBLEM.npz SECONDS

Prints one JSON object: the support, CPU seconds, and the lower bound on R that is claimed, if any.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

GAP = 1e-6
"""Relative, where a solver asks for one: near to a proof of optimality."""

Answer = tuple[np.ndarray, float | None]
"""Coefficients, and a lower bound on R."""


def okridge(problem: Any, limit: float) -> Answer:
    """min ‖Xβ‖² - 2yᵀXβ + λ‖β‖², s coefficients."""
    from okridge.tree import BNBTree

    X, y, n = problem["X"], problem["y"], len(problem["y"])
    tree = BNBTree(X, y, lambda2=float(problem["ridge"]))
    _, coef, _, bound, _ = tree.solve(int(problem["size"]), gap_tol=GAP, time_limit=limit)
    return coef, (float(y @ y) + bound) / (2 * n)


def l0bnb(problem: Any, limit: float) -> Answer:
    """min ½‖y - Xβ‖² + l0 ‖β‖₀ + ½λ‖β‖² with an l0 at which s coefficients are the best number."""
    from l0bnb import BNBTree

    X, y, n = problem["X"], problem["y"], len(problem["y"])
    penalty, size = float(problem["penalty"]), int(problem["size"])
    found = BNBTree(X, y).solve(
        penalty,
        float(problem["ridge"]) / 2,
        float(problem["largest"]),
        gap_tol=GAP,
        time_limit=limit,
    )
    return found.beta, (found.cost * (1.0 - found.gap) - penalty * size) / n


def abess(problem: Any, limit: float) -> Answer:
    """Splicing with s coefficients, which proves nothing; without the ridge."""
    from abess import LinearRegression

    model = LinearRegression(support_size=int(problem["size"]), fit_intercept=False)
    model.fit(problem["X"], problem["y"])
    return model.coef_, None


SOLVERS: dict[str, Callable[[Any, float], Answer]] = {
    "okridge": okridge,
    "l0bnb": l0bnb,
    "abess": abess,
}


def main() -> None:
    name, path, limit = sys.argv[1:]
    problem = np.load(path)
    solve = SOLVERS[name]
    # Compiled once, on a small problem, and not counted.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 12))
    small = {**problem, "X": X, "y": X[:, 0] + rng.standard_normal(50), "size": 2, "penalty": 5.0}
    with contextlib.redirect_stdout(sys.stderr):
        solve(small, 5.0)
        started = time.process_time()
        coef, bound = solve(problem, float(limit))
        seconds = time.process_time() - started
    support = np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max())
    print(json.dumps({"support": support.tolist(), "seconds": seconds, "bound": bound}))


if __name__ == "__main__":
    main()
