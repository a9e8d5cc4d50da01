"""Restricted problems by Clarabel, an interior-point solver for cones, one at a time.

The second opinion where the batched method stops short of its goal. Nothing is taken on trust
from it: what its β and α are worth is for `mipselect.restricted.certified.certified` to say.
"""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.restricted.certified import BoxDual

TOLERANCE = 1e-12
"""Asked for; what rounding allows may be less."""


def solve_by_clarabel(
    columns: FloatArray, box: BoxDual, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Find nearly optimal β, shape (s,), and α, shape (n,), of one problem with C of shape (s, n).

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
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    solution = clarabel.DefaultSolver(
        sparse.diags(quadratic, format="csc"), price, rows, right, cones, settings
    ).solve()
    beta = np.nan_to_num(np.asarray(solution.x[:s]), posinf=0.0, neginf=0.0)
    alpha = -force * np.nan_to_num(np.asarray(solution.z[:n]), posinf=0.0, neginf=0.0)
    return beta, alpha
