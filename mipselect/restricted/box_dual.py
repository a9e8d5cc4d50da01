"""Restricted problems of a loss with a box dual, on one data set."""

from __future__ import annotations

from copy import copy

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import SolverFailure
from mipselect.restricted.certified import BoxDual, Solutions, certified
from mipselect.restricted.fenchel import EPS, PRECISION, WIDE, FenchelBounds, squared_products
from mipselect.restricted.one_more import bounds_with_one_more
from mipselect.restricted.open_rows import solve
from mipselect.restricted.prepared import RestrictedFit

BATCH_ENTRIES = 200_000
"""Rows of X times problems that are solved at once: what fits a processor's cache."""

CLARABEL_GAP = 1e-12
"""Asked for; what rounding allows may be less."""

DEFAULT_GAP = 1e-8
"""Duality gap, in losses without features, beyond which a value is refused if no Δ is known."""

ACCURACY = 1e-6
"""Duality gap, in sensitivities, beyond which a value is refused. Public."""

ROUNDING = 1024.0 * EPS
"""Most that rounding may add to a value and to its certificate, in largest losses; generous.

Every row's part is right to s + 4 roundings, and sums over rows are pairwise.
"""


class PreparedBoxDual:
    """Restricted problems of such a loss on one data set.

    Values come from `mipselect.restricted.interior_point` and, where that stops short, from
    Clarabel. They are objectives of feasible coefficients, so never below R, and each is proven by
    a dual point to be within the gap that is allowed; see `certified_for`.
    """

    def __init__(self, X: FloatArray, box: BoxDual, ridge: float, radius: float) -> None:
        self.rows: FloatArray = np.ascontiguousarray(X.T, dtype=np.float64)
        self.box, self.ridge, self.radius = box, ridge, radius
        self.p, self.n = self.rows.shape
        self.lengths = np.sqrt(np.einsum("pn,pn->p", self.rows, self.rows))
        self.at_zero = float(box.loss(np.zeros(self.n)))
        self.allowed_gap = DEFAULT_GAP * self.at_zero

    def certified_for(self, sensitivity: float) -> PreparedBoxDual:
        """Return the same problem with values proven to `ACCURACY` sensitivities, or raise.

        No proof can be finer than what rounding adds to the losses without features.
        """
        other = copy(self)
        other.allowed_gap = ACCURACY * sensitivity * self.n + ROUNDING * self.at_zero
        return other

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem on `support`, shape (s,)."""
        order = np.argsort(support)
        solution = self.solved(np.asarray(support)[order][None])
        coef = np.empty(len(support))
        coef[order] = self.radius * solution.coef[0]
        w = self.rows[support] @ solution.dual[0]
        multiplier = max(float(np.linalg.norm(w)) / self.radius - self.ridge, 0.0)
        return RestrictedFit(float(solution.values[0]) / self.n, coef, multiplier)

    def values(self, supports: IntArray, near: FloatArray | None = None) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s); returns shape (m,)."""
        batches = [self.solved(*batch).values for batch in self._batches(supports, near)]
        return np.asarray(np.concatenate([np.empty(0), *batches]) / self.n)

    def bounds(self, supports: IntArray, near: FloatArray | None = None) -> FenchelBounds:
        """Find nearly optimal dual points of every row of `supports`, shape (m, k), k ≥ 0."""
        batches = self._batches(supports, near)
        solutions = [self.solved(*batch) for batch in batches]
        coef = np.zeros((len(supports), self.p))
        ordered = np.concatenate([batch for batch, _ in batches])
        np.put_along_axis(coef, ordered, np.concatenate([one.coef for one in solutions]), axis=1)
        return self._bounds(np.concatenate([one.dual for one in solutions]), coef)

    def bounds_with_one_more(
        self, base: IntArray, point: FloatArray, candidates: IntArray
    ) -> FloatArray:
        """Bound R(B ∪ {j}) from below; see `mipselect.restricted.fenchel.FenchelLoss`."""
        problem = self.rows, self.box, self.ridge, self.radius
        # Where all residuals are exactly zero there is no band around the kink, and no bound.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(bounds_with_one_more(*problem, base, point, candidates) / self.n)

    def scaled_bounds(
        self,
        features: IntArray,
        scales: FloatArray,
        *,
        reach: float = WIDE,
        precision: float = PRECISION,
    ) -> FenchelBounds:
        """Find such a dual point; see `mipselect.restricted.fenchel.FenchelLoss`."""
        radius = reach * self.radius
        columns = radius * scales[:, None] * self.rows[features]
        gap = max(self.allowed_gap, precision * self.at_zero)
        ridge = self.ridge * radius**2
        solution = solve(columns[None], self.box, ridge, gap, precision=precision)
        return self._bounds(solution.dual)

    def _bounds(self, points: FloatArray, coef: FloatArray | None = None) -> FenchelBounds:
        constants, weights = self.bounds_of(points)
        always = np.zeros(len(constants))
        return FenchelBounds(
            constants, weights, self.n, self.ridge, self.radius, always, points, coef
        )

    def bounds_of(self, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute constants and squared weights of any dual points in the box, shape (m, n)."""
        constants = self.box.conjugate(dual)
        sizes = np.abs(dual) @ np.abs(self.box.y)
        sizes += 0.5 * self.box.softness * np.einsum("mn,mn->m", dual, dual)
        return constants - 16.0 * EPS * sizes, squared_products(dual, self.rows, self.lengths)

    def _batches(
        self, supports: IntArray, near: FloatArray | None
    ) -> list[tuple[IntArray, FloatArray | None]]:
        """Sort supports, a few at a time, with the coefficients at which they begin."""
        size = max(1, BATCH_ENTRIES // self.n)
        batches: list[tuple[IntArray, FloatArray | None]] = []
        for k in range(0, len(supports), size):
            batch, begin = np.sort(supports[k : k + size], axis=1), None
            if near is not None:
                some = near[None] if near.ndim == 1 else near[k : k + size]
                begin = np.take_along_axis(some, batch, axis=1)
            batches.append((batch, begin))
        return batches

    def solved(self, supports: IntArray, start: FloatArray | None = None) -> Solutions:
        """Solve with proofs, in units of the radius and not divided by n.

        Parameters
        ----------
        supports : ndarray of int, shape (m, s)
            Sorted rows.
        start : ndarray of shape (m, s), optional
            Coefficients that may be near.

        Raises
        ------
        SolverFailure
            Where neither method reaches the gap that is allowed.
        """
        columns = self.radius * self.rows[supports]
        ridge = self.ridge * self.radius * self.radius
        solutions = solve(columns, self.box, ridge, self.allowed_gap, start=start)
        for k in np.flatnonzero(~(solutions.gaps <= self.allowed_gap)):
            coef, dual = solve_by_clarabel(columns[k], self.box, ridge)
            # Where the loss is smooth its slope at β is a dual point too, and often the better one.
            for point in (dual, self.box.best_dual(coef @ columns[k])):
                again = certified(columns[k : k + 1], self.box, ridge, coef[None], point[None])
                solutions.improve(np.array([k]), again)
            if not solutions.gaps[k] <= self.allowed_gap:
                raise SolverFailure(
                    f"the restricted problem on {supports[k].tolist()} could only be solved to a "
                    f"duality gap of {solutions.gaps[k] / self.n:.3g} at the value "
                    f"{solutions.values[k] / self.n:.6g}: a larger ridge helps"
                )
        return solutions


def solve_by_clarabel(
    columns: FloatArray, box: BoxDual, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Find nearly optimal β, shape (s,), and α, shape (n,), of one problem with C of shape (s, n).

    By an interior-point method for cones: the second opinion where the batched method stops short.

    The loss is the least of (q/2)a² + hi p - lo m over y - u = q a + p - m with p, m ≥ 0, and α
    the multiplier of this equation. Responses and duals are brought to size 1 first.
    """
    import clarabel
    from scipy import sparse

    s, n = columns.shape
    length = max(float(np.abs(box.y).max()), float(np.abs(columns).max()))
    force = float(np.maximum(np.abs(box.low), np.abs(box.high)).max())
    if length == 0.0:
        return np.zeros(s), np.zeros(n)
    unit = force * length
    softness = box.softness * force / length
    quadratic = np.concatenate([np.full(s, ridge / unit), np.full(n, softness), np.zeros(2 * n)])
    price = np.concatenate([np.zeros(s + n), box.high / force, -box.low / force])
    eye = sparse.identity(n, format="csc")
    rows = sparse.bmat(
        [
            [sparse.csc_matrix(columns.T / length), softness * eye, eye, -eye],
            [None, sparse.csc_matrix((n, n)), -eye, None],
            [None, None, None, -eye],
            [sparse.csc_matrix((1, s)), None, None, None],
            [-sparse.identity(s), None, None, None],
        ],
        format="csc",
    )
    right = np.concatenate([box.y / length, np.zeros(2 * n), [1.0], np.zeros(s)])
    cones = [
        clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(s + 1)
    ]  # fmt: skip
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = CLARABEL_GAP
    solution = clarabel.DefaultSolver(
        sparse.diags(quadratic, format="csc"), price, rows, right, cones, settings
    ).solve()
    beta = np.nan_to_num(np.asarray(solution.x[:s]), posinf=0.0, neginf=0.0)
    alpha = -force * np.nan_to_num(np.asarray(solution.z[:n]), posinf=0.0, neginf=0.0)
    return beta, alpha
