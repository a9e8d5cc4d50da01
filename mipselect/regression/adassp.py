"""AdaSSP: least squares from noisy sums of squares and products, once or in rounds; (ε, δ)."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.grid import exact_products, on_grid
from mipselect.privacy.concentrated import gaussian_rho
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger
from mipselect.regression.base import Drawn, PrivateRegressor
from mipselect.regression.gaussian_noise import largest_mu, plus_gaussian
from mipselect.regression.noisy_moments import (
    QUANTILE,
    SIZES_SHARE,
    Deviations,
    deviations,
    inverse_of_regularised,
    plus_symmetric_gaussian,
    smallest_eigenvalue,
)
from mipselect.regression.rows import RowMap, products, require_bounded
from mipselect.validation import (
    checked_budget,
    checked_delta,
    checked_integer,
    checked_scale,
)


class _AdaSSP(PrivateRegressor):
    """Common base of the regressors with one round and with many."""

    delta: float
    x_bound: float | ArrayLike | None
    y_bound: float | None
    row_bound: float | None
    fit_intercept: bool

    _sizes_share: ClassVar[float] = 0.0
    """Share of μ² that the sum of squares of the target and the number of rows cost."""

    def promise(self, size: int) -> Guarantee:
        """Return the guarantee of a fit on `size` columns: (ε, δ), and ρ = μ²/2.

        See `PrivateLinearModel.promise`.
        """
        self._rows(size)
        self._residual_bound()
        self._target_bound()
        self._deviations(size)
        rho = gaussian_rho(largest_mu(self.epsilon, self.delta))
        return Guarantee(self.epsilon, self.delta, relation=self._checked_relation(), rho=rho)

    @abstractmethod
    def _rounds(self) -> int:
        """T."""

    @abstractmethod
    def _residual_bound(self) -> float:
        """B_r."""

    @abstractmethod
    def _target_bound(self) -> float:
        """B_y."""

    @abstractmethod
    def _name(self) -> str:
        """Return the name that a release gives the mechanism."""

    def _deviations(self, size: int) -> Deviations:
        epsilon, delta = checked_budget(self.epsilon), checked_delta(self.delta)
        relation, rounds = self._checked_relation(), self._rounds()
        columns = self._rows(size).columns
        return deviations(epsilon, delta, relation, rounds, self._sizes_share, columns=columns)

    def _rows(self, size: int) -> RowMap:
        row_bound = 1.0 if self.row_bound is None and self.x_bound is None else self.row_bound
        row_map = RowMap(
            size,
            self.fit_intercept,
            x_bound=self.x_bound,  # type: ignore[arg-type]
            unit=self.x_bound,  # type: ignore[arg-type]
            row_bound=row_bound,
        )
        return require_bounded(row_map)

    def _draw(self, X: FloatArray, y: FloatArray, source: random.Random, private: bool) -> Drawn:
        rows, sigma = self._rows(X.shape[1]), self._deviations(X.shape[1])
        clip, y_bound = self._residual_bound(), self._target_bound()
        table = on_grid(rows(X), rows.norm)
        target = np.clip(y, -y_bound, y_bound)
        gram = exact_products(table, table)
        noisy_gram = plus_symmetric_gaussian(gram, sigma.gram, source, private=private)
        smallest = np.array([smallest_eigenvalue(gram)])
        lower = plus_gaussian(smallest, sigma.eigenvalue, source, private=private)
        lower -= QUANTILE * sigma.eigenvalue
        inverse = inverse_of_regularised(noisy_gram, float(lower[0]), sigma.gram)
        theta = np.zeros(rows.columns)
        gradients = []
        for _ in range(self._rounds()):
            residuals = on_grid(target - products(table, theta), clip)
            gradient = exact_products(table, residuals[:, None])[:, 0]
            noisy = plus_gaussian(gradient, sigma.gradient, source, private=private) * clip
            gradients.append(noisy)
            theta = theta + inverse @ noisy
        sizes, known = self._draw_sizes(target, sigma.sizes, source, private)
        return Drawn(
            theta / rows.norm,
            rows,
            self._name(),
            bounds={
                **known,
                **({} if self.y_bound is None else {"y_bound": y_bound}),
                "residual_bound": clip,
                "rounds": float(self._rounds()),
                "row_norm": rows.norm,
                "gram_deviation": sigma.gram,
                "eigenvalue_deviation": sigma.eigenvalue,
                "gradient_deviation": sigma.gradient * clip,
            },
            statistics={
                "gram": noisy_gram,
                "smallest_eigenvalue": lower,
                "gradients": gradients,
                **sizes,
            },
        )

    def _draw_sizes(
        self, target: FloatArray, deviation: float, source: random.Random, private: bool
    ) -> tuple[dict[str, FloatArray], dict[str, float]]:
        """Further statistics, and public numbers that go with them: none."""
        return {}, {}


class AdaSSPRegressor(_AdaSSP):
    """Least squares from a noisy XᵀX and Xᵀy, with as much ridge as the noise asks for.

    Parameters
    ----------
    epsilon, delta : float
        ε > 0 and 0 < δ < 1, under `relation`.
    x_bound : float or array_like of shape (p,), optional
        Columns are clipped to ± this and divided by it. Public.
    y_bound : float
        The target is clipped to ± this. Public; required.
    row_bound : float, optional
        Rows, with the one in them, are shortened to this Euclidean length; after the division
        if there is an `x_bound`, and √(p + 1) then if None is given. 1 with neither.
    fit_intercept : bool
        Whether a column of ones is added.
    relation : {"replace-one", "add-remove"}
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    Rows x of length at most 1 and targets within B_y give XᵀX, its smallest eigenvalue and Xᵀy
    with the sensitivities 1, 1 and B_y when a row is added, and √2, 1 and 2B_y when one is
    replaced (Weyl's inequality for the eigenvalue: the difference of two matrices xxᵀ and zzᵀ
    has eigenvalues in [-1, 1]). A hundredth of μ² pays for a noisy yᵀy and, under add-remove, a
    noisy number of rows, which `confidence_intervals` needs: 0.5 % more noise on the rest. The
    three others have a third each of what is left; all together are μ-Gaussian private, and μ is
    the largest one that (ε, δ) allows, rounded down.

    Rows and targets are cut to multiples of 2^-16 of their bounds before they are added up, so
    that sums are exact; what doubles round of those of up to 2^31 - 1 rows is part of every
    sensitivity. Noise is drawn with OpenDP.

    The published code adds the noisy eigenvalue itself as a ridge, and its μ exceeds δ by up to
    0.9 %.

    References
    ----------
    Wang, "Revisiting differentially private linear regression", 2018, algorithm 2 (AdaSSP);
    Tang et al., "Improved differentially private regression via gradient boosting", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = 0.5 * X[:, 0] + 0.1
    >>> model = AdaSSPRegressor(epsilon=5.0, delta=1e-6, x_bound=1.0, y_bound=1.0).fit(X, y)
    >>> model.predict(X[:3]).shape, model.score(X, y) > 0.9
    ((3,), True)
    >>> print(model.guarantee_)
    (5, 1e-06)-differentially private, replacing one row; no further condition
    """

    _sizes_share = SIZES_SHARE

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        x_bound: float | ArrayLike | None = None,
        y_bound: float | None = None,
        row_bound: float | None = None,
        fit_intercept: bool = True,
        relation: str = "replace-one",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _rounds(self) -> int:
        return 1

    def _target_bound(self) -> float:
        self._require(y_bound="the target is clipped to ± this")
        return checked_scale(self.y_bound, "y_bound")  # type: ignore[arg-type]

    def _residual_bound(self) -> float:
        return self._target_bound()

    def _draw_sizes(
        self, target: FloatArray, deviation: float, source: random.Random, private: bool
    ) -> tuple[dict[str, FloatArray], dict[str, float]]:
        """Σy² with noise, and n: with noise where it is not public."""
        bound = self._target_bound()
        cut = on_grid(target, bound)[:, None]
        sizes = np.array([exact_products(cut, cut)[0, 0], float(len(target))])
        units = np.array([bound**2, 1.0])
        known = {"squares_deviation": deviation * bound**2}
        if self.relation == "replace-one":
            noisy = plus_gaussian(sizes[:1], deviation, source, private=private) * units[:1]
            return {"squares": noisy}, {**known, "rows": sizes[1]}
        noisy = plus_gaussian(sizes, deviation, source, private=private) * units
        return {"squares": noisy[:1], "rows": noisy[1:]}, {**known, "rows_deviation": deviation}

    def _name(self) -> str:
        return "adassp"


class BoostedAdaSSPRegressor(_AdaSSP):
    """AdaSSP in rounds, each on the clipped residuals of the ones before.

    Parameters
    ----------
    residual_bound : float
        B_r: residuals are clipped to ± this in every round, in the units of y. Public. What T
        rounds can reach is bounded by about T B_r.
    y_bound : float, optional
        The target is clipped to ± this first. Public.
    rounds : int
        T.
    epsilon, delta, x_bound, row_bound, fit_intercept, relation, ledger, random_state
        See `AdaSSPRegressor`.

    Notes
    -----
    θ ← θ + H⁻¹(Xᵀclip(y - Xθ, ±B_r) + noise), T times, from θ = 0; with T = 1 and B_r = B_y this
    is AdaSSP. A gradient has the sensitivity B_r when a row is added and 2B_r when one is
    replaced, whatever θ is; each of them is μ/√(3T)-Gaussian private. See `AdaSSPRegressor`.

    References
    ----------
    Tang et al., "Improved differentially private regression via gradient boosting", 2023
    (BoostedAdaSSP).

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import BoostedAdaSSPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = 3.0 * X[:, 0]
    >>> model = BoostedAdaSSPRegressor(epsilon=5.0, residual_bound=1.0, rounds=20, x_bound=1.0)
    >>> model.fit(X, y).score(X, y) > 0.8
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        residual_bound: float = 1.0,
        rounds: int = 100,
        x_bound: float | ArrayLike | None = None,
        y_bound: float | None = None,
        row_bound: float | None = None,
        fit_intercept: bool = True,
        relation: str = "replace-one",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.residual_bound = residual_bound
        self.rounds = rounds
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _rounds(self) -> int:
        return checked_integer(self.rounds, "rounds", 1)

    def _target_bound(self) -> float:
        bound = LARGEST_TARGET if self.y_bound is None else self.y_bound
        return checked_scale(bound, "y_bound")

    def _residual_bound(self) -> float:
        return checked_scale(self.residual_bound, "residual_bound")

    def _name(self) -> str:
        return f"boosted-adassp, {self._rounds()} rounds"


LARGEST_TARGET = 1e25
"""Bound to which y is clipped where nothing else is said: the largest scale there is."""
