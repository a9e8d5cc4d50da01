"""Permute-and-flip over all supports."""

from __future__ import annotations

from mipselect.docstrings import completed_by
from mipselect.mechanisms.supports.cell_law import CellLaw, Cells
from mipselect.mechanisms.supports.enumeration_sampler import ListedLaw
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.flipped_cells import FlippedCells
from mipselect.mechanisms.supports.flipped_weights import FlippedWeights
from mipselect.privacy.concentrated import pure_rho
from mipselect.privacy.randomness import IntegerWeights


@completed_by(ExactDraws)
class PermuteAndFlip(ExactDraws):
    """Permute-and-flip with weights μ(S) exp(-ε R(S) / 2w), over all supports of some sizes.

    All supports are looked at in random order, and the first is taken whose coin of probability
    weight / largest weight shows heads. At the same ε the probability of the support with the
    largest weight is never less than by the exponential mechanism, and with equal μ the expected
    R(S) is never more. Pure ε, without a condition, a tolerance or an assumption, for any number of
    supports.

    w is the `oscillation` of the instance, at most Δ: where one row is replaced the changes of R
    lie, for all supports, in an interval of length 2w.

    Notes
    -----
    A draw is the race of McKenna and Sheldon in continuous time, on the cells of
    `ExponentialMechanism`: its supports are proposed and accepted in the same way, and a further
    coin depends on the time that has passed. Where the race lasts for long the largest weight has
    to be proven. If the time limit ends the proof, nothing is released.

    The errors of arithmetic are paid for: c is below ε/2w by some 2e-4 of it at most for ordinary
    bounds and ε, and public (`Rate`). A draw costs ε/2 under add-remove (`guarantees`). It is
    not of bounded range: ρ is ε²/2, where that of the exponential mechanism is ε²/8.

    Where all supports are listed `log_probability` is an integral, right to 1e-12.

    References
    ----------
    McKenna and Sheldon, "Permute-and-flip", 2020, algorithm 1.

    Examples
    --------
    >>> from mipselect import ExponentialMechanism, Ledger, PermuteAndFlip, load_instance
    >>> instance = load_instance("tiny-plain")
    >>> draw = PermuteAndFlip(instance, epsilon=1.0)
    >>> release = draw.release(Ledger(1.0))
    >>> release.private, len(release.support)
    (True, 3)
    >>> print(draw.guarantee)
    1-differentially private (pure), replacing one row; no further condition
    >>> best = (1, 4, 6)
    >>> draw.log_probability(best) > ExponentialMechanism(instance, 1.0).log_probability(best)
    True
    """

    name = "permute-and-flip"
    _roundings = 2.5

    @staticmethod
    def _listed_law(weights: IntegerWeights) -> ListedLaw:
        """Make the law of permute-and-flip among the listed weights."""
        return FlippedWeights(weights)

    @staticmethod
    def _cell_law(cells: Cells) -> CellLaw:
        """Make the law of permute-and-flip among the supports of all cells."""
        return FlippedCells(cells)

    @staticmethod
    def rho_of(epsilon: float) -> float | None:
        """Return ε²/2, which holds for anything that is ε-private."""
        return pure_rho(epsilon)
