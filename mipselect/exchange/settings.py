"""Settings under which the answer of a solver deserves trust, by the names that solvers have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mipselect.backends.protocols import MASTER_GAP
from mipselect.search.monolithic.whole import CLAIM_ERROR
from mipselect.search.tuning import TUNING

UNITS = TUNING.whole_models.units
"""The value of no features in the units of an exported model."""

WHOLE_GAP = TUNING.whole_models.share_of_tau * CLAIM_ERROR * UNITS
"""Absolute gap of a model with quadratic terms: a tenth of what its claim is lowered by."""

FEASIBILITY = 1e-9
"""Tolerance on rows, on integrality and on reduced costs: the least that most solvers take."""

LEAST_FEASIBILITY = {"scip": 1e-8, "cbc": 1e-7}
"""Solvers that lose solutions, or end late, with less."""


@dataclass(frozen=True)
class SolverSettings:
    """Tolerances that a solver must be given.

    Attributes
    ----------
    linear : bool
        True of a model without quadratic terms.
    absolute_gap : float
        Between value and bound, in units of the model's objective. The relative gap is 0.
    feasibility, integrality : float
        How far a row may be broken, and a 0/1 variable be off.

    Examples
    --------
    >>> from mipselect.exchange import SolverSettings
    >>> settings = SolverSettings.of_model(linear=True)
    >>> settings.of_solvers["highs"]["mip_rel_gap"]
    0.0
    """

    linear: bool
    absolute_gap: float
    feasibility: float = FEASIBILITY
    integrality: float = FEASIBILITY
    relative_gap: float = 0.0

    @classmethod
    def of_model(cls, *, linear: bool) -> SolverSettings:
        """Return the settings for a linear model, or for one with quadratic terms."""
        return cls(linear, MASTER_GAP if linear else WHOLE_GAP)

    @property
    def of_solvers(self) -> Mapping[str, Mapping[str, float]]:
        """The settings by the names of the options of each solver that takes the model."""
        takes_linear = {"highs", "cbc"}
        return {
            solver: {option: self._value(solver, meaning) for option, meaning in options.items()}
            for solver, options in OPTIONS.items()
            if self.linear or solver not in takes_linear
        }

    @property
    def in_words(self) -> str:
        """The tolerances in one line."""
        return (
            f"relative gap {self.relative_gap:g}, absolute gap {self.absolute_gap:g}, "
            f"feasibility {self.feasibility:g}, integrality {self.integrality:g}"
        )

    def _value(self, solver: str, meaning: str) -> float:
        value = float(getattr(self, meaning))
        if meaning in ("feasibility", "integrality"):
            return max(value, LEAST_FEASIBILITY.get(solver, 0.0))
        return value


OPTIONS = {
    "gurobi": {
        "MIPGap": "relative_gap",
        "MIPGapAbs": "absolute_gap",
        "FeasibilityTol": "feasibility",
        "IntFeasTol": "integrality",
        "OptimalityTol": "feasibility",
    },
    "cplex": {
        "mip tolerances mipgap": "relative_gap",
        "mip tolerances absmipgap": "absolute_gap",
        "simplex tolerances feasibility": "feasibility",
        "mip tolerances integrality": "integrality",
    },
    "xpress": {
        "MIPRELSTOP": "relative_gap",
        "MIPABSSTOP": "absolute_gap",
        "FEASTOL": "feasibility",
        "MIPTOL": "integrality",
    },
    "scip": {
        "limits/gap": "relative_gap",
        "limits/absgap": "absolute_gap",
        "numerics/feastol": "feasibility",
    },
    "highs": {
        "mip_rel_gap": "relative_gap",
        "mip_abs_gap": "absolute_gap",
        "primal_feasibility_tolerance": "feasibility",
        "dual_feasibility_tolerance": "feasibility",
        "mip_feasibility_tolerance": "integrality",
    },
    "cbc": {
        "ratioGap": "relative_gap",
        "allowableGap": "absolute_gap",
        "primalTolerance": "feasibility",
        "dualTolerance": "feasibility",
        "integerTolerance": "integrality",
    },
}
"""Options of each solver, and the tolerance that each of them is."""
