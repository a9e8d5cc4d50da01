"""The exponential mechanism over all supports."""

from __future__ import annotations

from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.rejection_sampler import SoftDraws
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho


@completed_by(ExactDraws)
class ExponentialMechanism(ExactDraws):
    """P(S) ∝ μ(S) exp(-ε R(S) / 2w) over all supports, of one public size or of several.

    Pure ε, without a condition, a tolerance or an assumption, for any number of supports. Few
    supports are listed. Otherwise all supports are divided into cells whose weights are bounded
    by a law that is easy to draw from; what is drawn is accepted with probability
    weight / bound, and accepted draws have exactly the stated law, whatever the cells are.

    w is the `oscillation` of the instance, at most Δ: where one row is replaced the changes of R
    lie, for all supports, in an interval of length 2w.

    Notes
    -----
    The draw is paid for with ε in full, the errors of arithmetic included: c is below ε/2w by
    1e-7 of it at some hundred rows and 1e-4 at a million, and public (`Rate`). Adding or removing a
    row moves n R(S) in one direction only, so that the same draw costs ε/2 under add-remove
    (`guarantees`).

    How long a draw takes depends on the data and is not covered; a draw that a time limit ends
    releases nothing.

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy", 2007, theorem 6.

    Examples
    --------
    >>> from mipselect import ExponentialMechanism, Ledger, load_instance
    >>> draw = ExponentialMechanism(load_instance("diabetes"), epsilon=1.0, sizes=range(1, 5))
    >>> release = draw.release(Ledger(1.0))
    >>> release.private, 1 <= len(release.support) <= 4
    (True, True)
    >>> print(draw.guarantee)
    1-differentially private (pure), replacing one row; no further condition
    >>> print(draw.guarantees["add-remove"].epsilon)
    0.5
    """

    name = "exponential"
    _roundings = 1.0
    _listed_law = staticmethod(lambda weights: weights)
    _soft_draws = SoftDraws
    rho_of = staticmethod(bounded_range_rho)
    """ε²/8, for a draw is of bounded range."""
